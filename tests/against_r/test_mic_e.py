"""The maximal information coefficient equals minerva 1.5.10 in R (mic_e.R), with ties too."""

import numpy as np
import pytest

import umfi

EXPECTED = {
    "cubic 60": 1,
    "parabola 60": 0.970950594454668,
    "sine 60": 0.309442715164776,
    "noisy line 60": 0.582545145286574,
    "independent 60": 0.130983316635571,
    "steps 60": 0.52085509684801,
    "two values 60": 0.80912549537889,
    "half zeros 60": 0.404693214180864,
    "cubic 500": 1,
    "parabola 500": 0.93505100471705,
    "sine 500": 0.630104973191107,
    "noisy line 500": 0.3037058458251,
    "independent 500": 0.0450749062947374,
    "steps 500": 0.300692636094216,
    "two values 500": 0.710901063166793,
    "half zeros 500": 0.282172177707521,
}


def make_pairs():
    pairs = {}
    for n_rows in (60, 500):
        rng = np.random.default_rng(n_rows)
        x = rng.normal(size=n_rows)
        pairs |= {
            f"cubic {n_rows}": (x, x**3),
            f"parabola {n_rows}": (x, x**2),
            f"sine {n_rows}": (x, np.sin(4 * x) + 0.3 * rng.normal(size=n_rows)),
            f"noisy line {n_rows}": (x, x + rng.normal(size=n_rows)),
            f"independent {n_rows}": (x, rng.normal(size=n_rows)),
            f"steps {n_rows}": (np.round(x), np.round(x + rng.normal(size=n_rows), 1)),
            f"two values {n_rows}": ((x > 0.5) * 1.0, np.round(2 * x)),
            f"half zeros {n_rows}": (np.maximum(x, 0.0), x**2 + 0.5 * rng.normal(size=n_rows)),
        }
    return pairs


PAIRS = make_pairs()


@pytest.mark.parametrize("name", EXPECTED)
def test_mic_e_equals_minerva(name):
    assert umfi.mic_e(*PAIRS[name]) == pytest.approx(EXPECTED[name], abs=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (np.zeros(5), np.zeros(6), "the same length"),
        (np.zeros((5, 1)), np.zeros((5, 1)), "the same length"),
        (np.array([1.0, np.nan, 2.0]), np.zeros(3), "missing values"),
    ],
)
def test_what_cannot_be_compared_is_refused(first, second, message):
    with pytest.raises(umfi.InputError, match=message):
        umfi.mic_e(first, second)
