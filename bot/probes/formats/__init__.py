"""Formats that several probes read, or that need a file of their own; none of them depends on a probe."""
