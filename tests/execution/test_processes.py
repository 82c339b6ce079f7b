"""Processes are kept for the next run, and not for ever."""

import os
import time

import pytest

from umfi.execution import executors
from umfi.execution.executors import hire, let_go


@pytest.fixture
def executor():
    executor = hire(1)
    yield executor
    executor.shutdown(kill_workers=True)


def test_the_next_run_has_the_same_processes(executor):
    pid = executor.submit(os.getpid).result()
    let_go(executor, 1)
    assert hire(1) is executor
    assert executor.submit(os.getpid).result() == pid


def test_two_runs_at_a_time_do_not_share(executor):
    other = hire(1)
    assert other is not executor
    other.shutdown()


def test_a_run_with_more_workers_has_new_ones(executor):
    let_go(executor, 1)
    other = hire(2)
    assert other is not executor
    other.shutdown()
    with pytest.raises(RuntimeError):
        executor.submit(os.getpid)


def test_a_forked_child_hires_its_own(executor):
    let_go(executor, 1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"own" if hire(1) is not executor else b"not its own")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 20) == b"own"
    assert hire(1) is executor


def test_idle_processes_end(executor, monkeypatch):
    monkeypatch.setattr(executors, "IDLE_SECONDS", 0.05)
    executor.submit(os.getpid).result()
    let_go(executor, 1)
    for _ in range(200):
        if not executors._idle:
            break
        time.sleep(0.05)
    with pytest.raises(RuntimeError):
        executor.submit(os.getpid)
    assert hire(1) is not executor
