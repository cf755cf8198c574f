"""A path, a network driver and test cases that do not come with the toolkit."""
