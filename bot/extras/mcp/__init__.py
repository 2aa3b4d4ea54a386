"""The Model Context Protocol, by which other programs ask for verdicts. Nothing here acts on a node."""

from __future__ import annotations

from bot.extras.mcp.settings import McpSettings
from bot.seats import Extra

EXTRA = Extra(
    "mcp",
    "asking for verdicts by the Model Context Protocol",
    needs=("cases",),
    commands={"mcp": "bot.extras.mcp.command"},
    settings={"mcp": McpSettings},
    serves="bot.extras.mcp.serving:serving",
    serves_alone="bot.extras.mcp.serving:serving_alone",
)
