import numpy as np
import pytest

from tests.naive.forest import Stream
from umfi.forest import random


def test_words_equal_the_published_splitmix64_sequence():
    # Seed 1234567, from the reference implementation by Sebastiano Vigna.
    stream = np.array([1234567], dtype=np.uint64)
    words = [int(random._draw_word(stream)) for _ in range(5)]
    assert words == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize(("seed", "number"), [(0, 0), (1, 99), (2**64 - 1, 7)])
def test_draws_equal_the_twin(seed, number):
    stream, twin = np.zeros(1, dtype=np.uint64), Stream(seed, number)
    random.start_stream(stream, np.uint64(seed), number)
    for bound in (1, 2, 10, 1000, 2**31):
        assert random.draw_below(stream, bound) == twin.below(bound)
        assert random.draw_uniform(stream) == twin.uniform()


def test_draws_below_a_bound_are_uniform():
    stream = np.zeros(1, dtype=np.uint64)
    random.start_stream(stream, np.uint64(5), 0)
    counts = np.bincount([random.draw_below(stream, 7) for _ in range(7000)], minlength=7)
    # Chi-squared with 6 degrees of freedom: 22.5 is exceeded once in a thousand.
    assert ((counts - 1000) ** 2 / 1000).sum() < 22.5
