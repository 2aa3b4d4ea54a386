"""Many nodes at once: who else has a cause, how common it is, and what the sick have that the healthy have not."""
