"""One module a subject; each collector fills a group from a source and cannot break its neighbours."""
