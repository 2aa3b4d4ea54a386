"""Former place of names of `subcommands`."""

from bot.surfaces.slack.subcommands import Subcommand as Subcommand
from bot.surfaces.slack.subcommands import subcommand_of as subcommand_of

Order = Subcommand
order_of = subcommand_of
