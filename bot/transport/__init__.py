"""Transports: how a batch of commands reaches a node (SSH, this machine, a recording), and the Kubernetes API."""
