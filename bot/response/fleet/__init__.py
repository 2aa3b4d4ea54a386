"""Many nodes at once: which nodes have a cause, how common it is, and how the sick differ from the healthy."""
