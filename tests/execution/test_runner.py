import io
import threading
import time

import numpy as np
import pytest
import rich.console

from umfi.execution import Streams, count_workers, kernel_seed, run_tasks


@pytest.mark.parametrize("n_jobs", [1, 2, 8])
def test_answers_are_keyed_by_name_whatever_finishes_first(n_jobs):
    def work(name):
        time.sleep(0.002 * (5 - name[0]))
        return name[0] * 10

    names = [(number,) for number in range(5)]
    assert run_tasks(work, names, n_jobs=n_jobs) == {(k,): 10 * k for k in range(5)}
    assert list(run_tasks(work, names[::-1], n_jobs=n_jobs)) == names[::-1]


def test_threads_are_used_and_serial_is_not_threaded():
    def work(name):
        time.sleep(0.01)
        return threading.get_ident()

    names = [(number,) for number in range(8)]
    here = threading.get_ident()
    assert set(run_tasks(work, names, executor="serial", n_jobs=4).values()) == {here}
    assert here not in run_tasks(work, names, executor="threads", n_jobs=2).values()


def test_an_error_in_a_task_reaches_the_caller():
    def work(name):
        raise ZeroDivisionError(str(name))

    for n_jobs in (1, 2):
        with pytest.raises(ZeroDivisionError):
            run_tasks(work, [(1,), (2,)], n_jobs=n_jobs)


def test_no_tasks_give_no_answers():
    assert run_tasks(lambda name: 1, []) == {}


def test_numbers_of_workers():
    everyone = count_workers(None)
    assert everyone >= 1
    assert count_workers(-1) == everyone
    assert count_workers(3) == 3
    assert count_workers(-1000) == 1


def test_streams_depend_on_the_name_and_nothing_else():
    streams = Streams(7)
    first = streams.generator("rain", 0, "permutation").random(4)
    streams.generator("snow", 0).random(10)
    again = Streams(7).generator("rain", 0, "permutation").random(4)
    np.testing.assert_array_equal(first, again)
    others = [("rain", 0), ("rain", 1, "permutation"), ("rain", "0", "permutation"), ("rain0",)]
    for name in others:
        assert not np.array_equal(first, streams.generator(*name).random(4))
    assert kernel_seed(streams.seed("a")) != kernel_seed(Streams(8).seed("a"))


def terminal(monkeypatch, is_terminal):
    written = io.StringIO()
    real = rich.console.Console

    def make(**arguments):
        return real(file=written, force_terminal=is_terminal, width=80)

    monkeypatch.setattr(rich.console, "Console", make)
    return written


def test_progress_bar_is_silent_outside_a_terminal(monkeypatch, capsys):
    written = terminal(monkeypatch, is_terminal=False)
    run_tasks(lambda name: 1, [(1,)], progress=True, title="work")
    assert written.getvalue() == ""
    assert capsys.readouterr() == ("", "")


def test_progress_bar_is_shown_in_a_terminal(monkeypatch):
    written = terminal(monkeypatch, is_terminal=True)
    run_tasks(lambda name: time.sleep(0.15), [(1,), (2,)], title="ultra_marginal", n_jobs=1)
    assert "ultra_marginal" in written.getvalue()
    assert "2/2" in written.getvalue()


def test_progress_bar_can_be_switched_off(monkeypatch):
    written = terminal(monkeypatch, is_terminal=True)
    run_tasks(lambda name: 1, [(1,)], progress=False)
    assert written.getvalue() == ""
