"""A result as one page that needs nothing else: gathered first, then rendered."""

from umfi.report.page import render_report, write_report
from umfi.report.words import answer_in_words

__all__ = ["answer_in_words", "render_report", "write_report"]
