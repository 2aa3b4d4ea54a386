"""A fleet of simulated nodes behind real SSH: the demo, and the test bed."""
