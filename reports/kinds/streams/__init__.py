"""What reports tell of streams, and what no execution of them can show."""
