"""Former place of names of `command_replies`."""

from bot.surfaces.slack.command_replies import CommandReplies as CommandReplies

Orders = CommandReplies
