"""Nodes and what joins them: namespaces, links, cables."""
