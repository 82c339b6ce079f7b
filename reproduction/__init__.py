"""The experiments of the paper, each in a file of its own, which public names are enough for."""

from reproduction.claims import HOLDS, Claim, sum_up
from reproduction.running import EXPERIMENTS, Reproduced, conclude, reproduce
from reproduction.session import Session, Tables

__all__ = [
    "EXPERIMENTS",
    "HOLDS",
    "Claim",
    "Reproduced",
    "Session",
    "Tables",
    "conclude",
    "reproduce",
    "sum_up",
]
