"""Prometheus and what asks it, for tests of metrics, rules and dashboards."""
