"""How the pages become a site: Sphinx with MyST, of the same files that one reads in the checkout."""

from __future__ import annotations

import shutil
from pathlib import Path

from sphinx.application import Sphinx

project = "BMWG toolkit"
author = "The BMWG toolkit's maintainers"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/adr/*.md",
    "docs/registry-template/*.md",
    "schemas/*.md",
    "benchmarks/results/*.md",
]
myst_heading_anchors = 3
# tests/site looks at each link of what was built, also at places that stand as HTML
suppress_warnings = ["myst.xref_missing"]
html_theme = "furo"
html_title = "BMWG toolkit"
html_copy_source = False
html_show_sphinx = False
# A page of the contents for each task; the README of the checkout stays as it is.
_CONTENTS = """

```{{toctree}}
:hidden:
:caption: {caption}
{entries}
```
"""
_PARTS = {
    "Begin": ("docs/tutorial", "docs/reading", "GLOSSARY"),
    "Tasks": ("docs/README",),
    "Reference": (
        "docs/errors",
        "docs/coverage",
        "docs/json",
        "docs/profile-keys",
        "docs/methods",
        "schemas/README",
    ),
    "Project": ("CONTRIBUTING", "CHANGES", "SECURITY", "CODE_OF_CONDUCT", "docs/adr/README"),
}
_OF_TASKS = "\n```{toctree}\n:hidden:\n:glob:\n*\n../docs/registry-template/*\n```\n"
_OF_DECISIONS = "\n```{toctree}\n:hidden:\n:glob:\n*\n/benchmarks/results/*\n```\n"


def setup(app: Sphinx) -> None:
    """Give the pages that lead to others their contents, and the site a first page by the name of one."""
    app.connect("source-read", _contents)
    app.connect("build-finished", _first_page)


def _contents(_app: Sphinx, name: str, source: list[str]) -> None:
    if name == root_doc:
        source[0] += "".join(
            _CONTENTS.format(caption=caption, entries="\n".join(f"/{entry}" for entry in entries))
            for caption, entries in _PARTS.items()
        )
    elif name == "docs/README":
        source[0] += _OF_TASKS
    elif name == "docs/adr/README":
        source[0] += _OF_DECISIONS


def _first_page(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        shutil.copyfile(Path(app.outdir) / "README.html", Path(app.outdir) / "index.html")
