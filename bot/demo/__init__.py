"""Simulated nodes, Slack, PagerDuty and Kubernetes, for the demo and the tests."""
