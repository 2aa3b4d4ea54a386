"""Former place of names of `ephemeral`."""

from bot.surfaces.slack.ephemeral import Ephemeral as Ephemeral

Whisper = Ephemeral
