"""A world in one process in which everything that can fail does, by a seed."""
