"""The documents' experiments on an HTTP proxy: the plan, what a repetition proves, the statistics."""
