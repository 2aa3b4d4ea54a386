"""A simulated node's insides: what it is, and what its files and tools say of it."""
