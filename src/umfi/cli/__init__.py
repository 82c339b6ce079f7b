"""The command line: parse, call, write."""

from umfi.cli.app import app

__all__ = ["app"]
