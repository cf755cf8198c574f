"""What a body adds to a bundle: challenges, keys with roles, announced runs, stamps, levels."""
