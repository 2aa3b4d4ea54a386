"""Former place of names of `calls`."""

from bot.surfaces.slack.calls import Timing as Timing
