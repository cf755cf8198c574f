"""What acts tell in reports, and what they are held to."""
