"""What kinds whose cells are answered by repetitions tell in reports alike, and are held to alike."""
