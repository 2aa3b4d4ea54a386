"""A simulated Slack workspace over real HTTP and WebSockets, for the demo and the tests."""
