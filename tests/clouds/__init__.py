"""Clouds to list nodes from: moto's EC2 as a server on loopback, and the simulated cluster."""
