"""Ports of a node: interfaces, NICs, their queues, routes and settings, and what a run borrows of them."""
