"""The ways a batch reaches a node: over SSH, on this machine, or out of a recording."""
