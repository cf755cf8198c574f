"""RFC 9971 (MLRsearch): goals, what recorded trials prove, and a search behind our interface."""
