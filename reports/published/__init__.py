"""Figures of published documents, told as ratios to native beside a run of the same experiment."""

from bmwg.reports.published.figures import Document, Figure, Table, documents, tables
from bmwg.reports.published.ratios import Ratio, published_page, published_section, ratios

__all__ = [
    "Document",
    "Figure",
    "Ratio",
    "Table",
    "documents",
    "published_page",
    "published_section",
    "ratios",
    "tables",
]
