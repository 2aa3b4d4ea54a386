"""Former place of names of `rate_limiter`."""

from bot.surfaces.slack.rate_limiter import FIRST as FIRST
from bot.surfaces.slack.rate_limiter import LAST as LAST
from bot.surfaces.slack.rate_limiter import SUMMARY as SUMMARY
from bot.surfaces.slack.rate_limiter import VERDICT as VERDICT
