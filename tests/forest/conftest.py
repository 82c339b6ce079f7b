import numpy as np
import pytest


@pytest.fixture(autouse=True)
def wrap_around():
    """Let unsigned numbers wrap around without the JIT compiler as they do with it."""
    with np.errstate(over="ignore"):
        yield
