"""What a reader opens: the first page, the chapters, the pages beside it and the last lines on a terminal."""
