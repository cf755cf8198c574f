"""Protocols of everything that touches the world."""
