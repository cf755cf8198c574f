"""What was made and how it is undone, and who holds what."""
