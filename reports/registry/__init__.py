"""A public registry of submissions, kept as a folder (of a git repository): its convention, checker and
index.
"""

from bmwg.reports.registry.check import Checked, check
from bmwg.reports.registry.entry import Entry, Examined, Finding
from bmwg.reports.registry.index import index_page

__all__ = ["Checked", "Entry", "Examined", "Finding", "check", "index_page"]
