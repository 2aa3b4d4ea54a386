"""From a delivery to incidents: which nodes an alert names, which route it takes, and what is recorded."""
