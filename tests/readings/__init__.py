"""Recorded outputs of probes, and texts that were valid once."""
