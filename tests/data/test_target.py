import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import umfi
from umfi.data.target import read_target

FLOATS = np.linspace(0.0, 1.0, 40)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (FLOATS, "regression"),
        (FLOATS.astype(np.float32), "regression"),
        (pd.Series(FLOATS), "regression"),
        (pl.Series("y", FLOATS), "regression"),
        (pa.chunked_array([FLOATS[:20], FLOATS[20:]]), "regression"),
        (FLOATS[:, np.newaxis], "regression"),
        (pd.DataFrame({"y": FLOATS}), "regression"),
        (np.arange(40), "regression"),
        (["a", "b"] * 20, "classification"),
        ([True, False] * 20, "classification"),
        (np.array([1, 2] * 20), "classification"),
        (np.arange(40) % 20, "classification"),
        (pd.Series(["a", "b"] * 20, dtype="category"), "classification"),
        (pd.Series(["a", 1] * 20, dtype=object), "classification"),
        (pd.Series(FLOATS, dtype=object), "regression"),
        (pa.array(FLOATS), "regression"),
        (pa.array(["a", "b"] * 20), "classification"),
        (pa.array(["a", "b"] * 20).dictionary_encode(), "classification"),
        (pl.Series("y", ["a", "b"] * 20, dtype=pl.Categorical), "classification"),
        (pd.Series([1, 2] * 20, dtype="Int64"), "classification"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_task_follows_from_the_response(y, task):
    assert read_target(y).task == task


def test_few_whole_numbers_are_classes_with_a_note_that_the_result_shows():
    X, _ = umfi.datasets.simulate("correlation", n=40, random_state=0)
    y = (X["x1"] > 0).astype(int)
    power = umfi.ForestPower(n_trees=5)
    result = umfi.bivariate(X, y, power=power)
    assert result.settings["task"] == "classification"
    assert "whole numbers with 2 distinct values" in result.settings["notes"][0]
    assert "whole numbers" in repr(result)
    assert "whole numbers" in result._repr_html_()
    given = umfi.bivariate(X, y, power=power, task="regression")
    assert given.settings["task"] == "regression"
    assert given.settings["notes"] == []


def test_two_valued_floats_are_a_quantity_with_a_note():
    target = read_target([0.0, 1.0] * 20)
    assert target.task == "regression"
    assert "set the task to 'classification'" in target.notes[0]
    assert read_target([0.0, 1.0] * 20, task="classification").classes == ("0.0", "1.0")


def test_classes_are_coded_in_their_own_order():
    target = read_target(pd.Series(["b", "a", "c", "a", "c", "b"] * 5, name="soil"))
    assert target.classes == ("a", "b", "c")
    assert target.labels[:4].tolist() == [1, 0, 2, 0]
    assert target.name == "soil"


def test_labels_cannot_be_a_quantity():
    with pytest.raises(umfi.InputError, match="needs a numeric response"):
        read_target(["a", "b"] * 20, task="regression")


def test_chance_level_is_zero_or_the_commonest_class():
    assert read_target(FLOATS).chance_level() == 0.0
    assert read_target(["a"] * 30 + ["b"] * 10).chance_level() == 0.75


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_in_a_list_are_missing(missing):
    with pytest.raises(umfi.InputError, match="'y' holds missing values"):
        read_target(["a", "b", missing] * 20)
