"""Virtual machines: what makes one and returns where it is reached, by provider, and the acts on it."""
