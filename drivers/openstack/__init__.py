"""OpenStack: a client's part of any cloud, and one of the toolkit's own in a namespace node."""
