"""Captures: a node profiled while it runs, and what kept it from being profiled."""
