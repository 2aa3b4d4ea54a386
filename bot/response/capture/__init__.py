"""Captures: a node profiled while it runs, or why it could not be."""
