"""Alerts for tests: bodies as sources send them, an intake, a simulated PagerDuty."""
