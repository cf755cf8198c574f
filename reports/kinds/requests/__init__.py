"""What the HTTP experiments of a run leave: the journal of repetitions, the answers, and their tables."""
