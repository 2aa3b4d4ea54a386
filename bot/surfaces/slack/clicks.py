"""Former place of names of `people`."""

from bot.surfaces.slack.people import Person as Person
