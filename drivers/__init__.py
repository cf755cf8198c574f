"""Drivers: everything that touches the world. One trial or one act each; none searches or judges."""
