"""Slack as a surface: cards, and the app that posts them and takes people's requests."""
