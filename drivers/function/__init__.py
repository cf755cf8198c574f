"""What forwards between the interfaces of a pod: one module a function."""
