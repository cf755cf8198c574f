"""What forwards between all NICs of a node by MAC address: one module a switch."""
