"""What makes a machine and returns where it is reached: one module a provider."""
