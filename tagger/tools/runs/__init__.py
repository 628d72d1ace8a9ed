"""Many trainings at once, and what came of them. Studies and the search for label errors share it."""
