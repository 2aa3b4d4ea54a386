"""A simulated Slack workspace over real HTTP and WebSockets: the demo's room and the tests' bed."""
