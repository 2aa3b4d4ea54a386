"""Former place of names of `requests`."""

from bot.surfaces.slack.requests import CommandRequest as CommandRequest

Wish = CommandRequest
