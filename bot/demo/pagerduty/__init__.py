"""A simulated PagerDuty: real HTTP on loopback, for the demo and the tests."""
