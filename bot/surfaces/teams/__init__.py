"""Microsoft Teams: a thin client of the Bot Framework's REST, which stands beside `bot/chat` alone."""
