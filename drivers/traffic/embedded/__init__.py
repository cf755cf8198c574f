"""The embedded tester: a C program on DPDK and the Python that builds, starts and commands it."""
