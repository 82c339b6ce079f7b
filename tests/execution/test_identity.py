"""What counts as the same run, and how differences are told."""

import functools
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import umfi
from umfi.execution.identity import describe, describe_table, digest_of, find_differences

WEIGHT = 1.0


class Odd:
    """Without a repr of its own."""

    def __init__(self, number):
        self.number = number
        self.me = self

    def method(self, columns, y, rng):
        return self.number


class Slotted:
    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number


def power_of(weight):
    def power(columns, y, rng):
        return weight * columns.shape[1]

    return power


def test_equal_arguments_are_described_alike_and_others_are_not():
    groups = [
        [lambda: umfi.ForestPower(n_trees=20), lambda: umfi.ForestPower(n_trees=20)],
        [lambda: umfi.ForestPower(n_trees=21)],
        [lambda: RandomForestRegressor(max_depth=3), lambda: RandomForestRegressor(max_depth=3)],
        [lambda: RandomForestRegressor(max_depth=4)],
        [lambda: make_pipeline(StandardScaler(), RandomForestRegressor(max_depth=3))],
        [lambda: Odd(1), lambda: Odd(1)],
        [lambda: Odd(2)],
        [lambda: power_of(1.0), lambda: power_of(1.0)],
        [lambda: power_of(2.0)],
        [lambda: functools.partial(max, 1), lambda: functools.partial(max, 1)],
        [lambda: functools.partial(max, 2)],
        [lambda: np.arange(3.0), lambda: np.arange(6.0)[:3]],
        [lambda: np.arange(3)],
        [lambda: {"a": {3, 1}, "b": None}, lambda: {"b": None, "a": {1, 3}}],
        [lambda: np.float64(0.5), lambda: 0.5],
        [lambda: Odd, lambda: Odd],
        [lambda: Odd(1).method, lambda: Odd(1).method],
        [lambda: Odd(2).method],
        [lambda: Slotted(1), lambda: Slotted(1)],
        [lambda: Slotted(2)],
        [lambda: np.random.RandomState(1), lambda: np.random.RandomState(1)],
        [lambda: np.random.RandomState(2)],
        [lambda: np.random.default_rng(1), lambda: np.random.default_rng(1)],
        [lambda: np.random.default_rng(2)],
        [lambda: np.datetime64("2020-01-01")],
        [lambda: 1 + 2j],
        [lambda: 1, lambda: np.int64(1)],
        [lambda: 1.0],
    ]
    digests = [{digest_of(describe(make())) for make in group} for group in groups]
    assert all(len(digest) == 1 for digest in digests)
    assert len(set.union(*digests)) == len(groups)


def test_what_a_function_uses_of_its_module_counts(monkeypatch):
    def power(columns, y, rng):
        return WEIGHT + np.mean(columns)

    before = digest_of(describe(power))
    assert digest_of(describe(power)) == before
    monkeypatch.setitem(globals(), "WEIGHT", 2.0)
    assert digest_of(describe(power)) != before


def test_another_process_describes_alike():
    """Whatever the order in which it holds sets, also those in code, and keys of several kinds."""
    code = (
        "from umfi.execution.identity import describe\n"
        "class Power:\n"
        "    def __init__(self):\n"
        "        self.of = {'b': 1, 2: {'x', 'yy', 'zzz'}, ('c', 1): frozenset({'p', 'q', 1})}\n"
        "    def __call__(self, c, y, rng):\n"
        "        return y in {'one', 'two', 'three', 'four'}\n"
        "print(describe(Power()))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in "12"
    }
    assert len(seen) == 1


def test_equal_arrays_are_described_alike_in_any_order_of_memory():
    values = np.arange(12.0).reshape(4, 3)
    alike = [values, np.asfortranarray(values), np.arange(24.0).reshape(4, 6)[:, :3] * 0 + values]
    wide = np.zeros((4, 6))
    wide[:, ::2] = values
    alike.append(wide[:, ::2])
    assert len({digest_of(describe(one)) for one in alike}) == 1
    assert len({digest_of(describe(one[:, :1])) for one in alike}) == 1
    assert digest_of(describe(values)) != digest_of(describe(values.astype(np.float32)))
    assert digest_of(describe(values)) != digest_of(describe(values.T))


def table(**changes):
    values = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    arguments = {"names": ["a", "b", "c"], "kinds": ["continuous"] * 3, "values": values}
    return describe_table(**(arguments | changes))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ({"X": table()}, {"X": table(values=np.ones((5, 3)))}, "X had 4 rows and has now 5"),
        (
            {"X": table()},
            {"X": table(names=["a", "b", "d"])},
            "X is now without 'c' and with 'd' added",
        ),
        ({"X": table()}, {"X": table(names=["b", "a", "c"])}, "stand in another order"),
        (
            {"X": table()},
            {"X": table(values=np.arange(12.0).reshape(4, 3) + np.eye(3)[2])},
            "X has other values in 'c'",
        ),
        (
            {"X": table()},
            {"X": table(kinds=["continuous", "ordinal", "continuous"])},
            "other values in 'b'",
        ),
        ({"threshold": 1}, {"threshold": 1.0}, "threshold was 1 and is now 1.0"),
        ({"y": [1]}, {"y": [2]}, "y is another"),
        ({"power": "a" * 100}, {"power": "b"}, "power is another"),
        (
            {"versions": {"numpy": "1", "umfi": "2"}},
            {"versions": {"numpy": "1", "umfi": "3"}},
            "umfi was 2 and is now 3",
        ),
    ],
)
def test_differences_are_named(old, new, message):
    [found] = find_differences(old, new)
    assert message in found
    assert find_differences(old, old) == []


def write_module(tmp_path, monkeypatch, text, name="users_own_power"):
    """Import a module of a user's, as it is now."""
    import importlib
    import sys

    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop(name, None)
    importlib.invalidate_caches()
    sys.dont_write_bytecode = True
    return importlib.import_module(name)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("class Power:\n    def __call__(self, c, y, rng):\n        return {}", "1", "2"),
        ("class B:\n    k = {}\nclass Power(B):\n    pass", "1", "2"),
        (
            (
                "class Power:\n    def run(self, *a):\n        return self.help()\n"
                "    def help(self):\n        return {}"
            ),
            "1",
            "2",
        ),
        (
            (
                "def helper(v):\n    return v + {}\n"
                "def Power():\n    return lambda c, y, rng: sum(helper(v) for v in c)"
            ),
            "1",
            "2",
        ),
        (
            (
                "import pandas as pd\n"
                "def Power():\n    weights = pd.Series([1.0, {}])\n"
                "    return lambda c, y, rng: weights.sum()"
            ),
            "1",
            "2",
        ),
        (
            (
                "import numba\n@numba.njit\ndef helper(v):\n    return v * {}\n"
                "def Power():\n    return lambda c, y, rng: helper(c[0, 0])"
            ),
            "1",
            "2",
        ),
    ],
    ids=["method", "class above", "other method", "helper in a generator", "frame", "numba"],
)
def test_code_of_users_that_changed_is_another_power(text, before, after, tmp_path, monkeypatch):
    seen = [
        digest_of(describe(write_module(tmp_path, monkeypatch, text.format(value)).Power()))
        for value in (before, after, before)
    ]
    assert seen[0] == seen[2]
    assert seen[0] != seen[1]


def test_modules_of_users_count_by_their_text(tmp_path, monkeypatch):
    def see(number):
        write_module(tmp_path, monkeypatch, f"def f():\n    return {number}", "users_helpers")
        text = "import users_helpers\ndef power(c, y, rng):\n    return users_helpers.f()"
        return digest_of(describe(write_module(tmp_path, monkeypatch, text).power))

    assert see(1) == see(1) != see(2)


def test_what_changes_with_use_does_not_count(tmp_path, monkeypatch):
    text = (
        "import logging, threading, numba\nimport pandas as pd\n"
        "logger = logging.getLogger('users')\nlock = threading.Lock()\n"
        "weights = pd.Series([1.0, 2.0])\n"
        "@numba.njit\ndef helper(v):\n    return v * 2\n"
        "def power(c, y, rng):\n    with lock:\n        logger.debug('x')\n"
        "    return helper(weights.loc[1])\n"
    )
    power = write_module(tmp_path, monkeypatch, text).power
    before = describe(power)
    assert power(None, None, None) == 4.0
    assert describe(power) == before


def test_what_holds_without_end_is_refused():
    class Link:
        def __init__(self, inner):
            self.inner = inner

    many = [Link(number) for number in range(200_000)]
    with pytest.raises(umfi.InputError, match="run without checkpoint"):
        describe(many)
