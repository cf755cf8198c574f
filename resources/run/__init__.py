"""A run: opened, planned, continued and closed, whatever its kind of load."""
