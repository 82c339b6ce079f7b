"""A user's data file becomes a table and a response: for the command line."""

from umfi.cli.files.preparing import Prepared, prepare
from umfi.cli.files.reading import DataFile, read_data_file

__all__ = ["DataFile", "Prepared", "prepare", "read_data_file"]
