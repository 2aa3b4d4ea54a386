"""The simulated Slack workspace in tests, and the bot in it."""
