"""Containers: what realizes a pod on a node, by runtime, and the acts on it."""
