"""Slack as a surface: cards, and the app that posts them and hears what people ask."""
