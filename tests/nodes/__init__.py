"""Nodes for tests: real sshd, simulated fleets, and nodes that can be acted on."""
