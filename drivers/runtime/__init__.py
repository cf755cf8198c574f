"""What realizes a pod on a node: one module a runtime."""
