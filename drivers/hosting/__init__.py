"""Where workloads run: nodes (namespaces, SSH), pods (OCI containers), and the acts on them."""
