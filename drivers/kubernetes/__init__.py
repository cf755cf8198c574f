"""A Kubernetes cluster: one made on the nodes of a testbed for a run, or the user's own, by its API."""
