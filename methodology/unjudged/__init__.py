"""Why a row has no rule, one file a document (data; `methodology/requirements/unjudged_rows.py` reads it)."""
