"""Former place of names of `requests`."""

from bot.surfaces.slack.requests import Subcommand as Subcommand
from bot.surfaces.slack.requests import subcommand_of as subcommand_of

Order = Subcommand
order_of = subcommand_of
