"""A simulated node: its state, its files and its commands."""
