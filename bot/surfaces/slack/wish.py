"""Former place of names of `subcommands`."""

from bot.surfaces.slack.subcommands import CommandRequest as CommandRequest

Wish = CommandRequest
