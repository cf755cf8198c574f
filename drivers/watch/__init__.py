"""What is watched beside a measurement: leaks, life, load, sleep, neighbours."""
