"""Attachments of workloads to the network: CNI plugins of any vendor, driven by data."""
