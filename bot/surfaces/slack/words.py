"""Former place of names of `requests`."""

from bot.surfaces.slack.requests import CheckRequest as CheckRequest
from bot.surfaces.slack.requests import HelpRequest as HelpRequest
from bot.surfaces.slack.requests import Known as Known
from bot.surfaces.slack.requests import help_words as help_words
from bot.surfaces.slack.requests import not_here as not_here
from bot.surfaces.slack.requests import parse as parse
from bot.surfaces.slack.requests import unknown_words as unknown_words
