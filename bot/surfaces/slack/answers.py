"""Former place of names of `ephemeral`."""

from bot.surfaces.slack.ephemeral import refusal_words as refusal_words
