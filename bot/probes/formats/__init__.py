"""Formats that several probes read, or that fill a file of their own; none of them knows a probe."""
