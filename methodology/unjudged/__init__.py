"""Why a row has no rule, one file a document (data; `methodology/unjudged_rows.py` reads it)."""
