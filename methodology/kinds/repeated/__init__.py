"""What kinds have in common whose cells are answered by repetitions: profile, plan, validity and answer."""
