"""The experiments of the paper, each in a file of its own, which public names are enough for."""

from umfi.experiments.claims import HOLDS, Claim, sum_up
from umfi.experiments.reproduction import EXPERIMENTS, Reproduced, conclude, reproduce
from umfi.experiments.workshop import Tables, Workshop

__all__ = [
    "EXPERIMENTS",
    "HOLDS",
    "Claim",
    "Reproduced",
    "Tables",
    "Workshop",
    "conclude",
    "reproduce",
    "sum_up",
]
