"""What is kept of a run, and what is told of it. Runs without root and without any driver."""
