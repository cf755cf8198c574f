"""What the documents say, as code and data. Pure: no clock, no file, no socket."""
