"""Incidents, databases and engines for tests of the record."""
