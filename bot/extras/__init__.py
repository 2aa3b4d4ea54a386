"""What can be left out: a folder for each extra, and this visible list of them by the modules of their doors."""

EXTRAS = (
    "bot.extras.cases",
    "bot.extras.history",
    "bot.extras.reports",
    "bot.extras.mcp",
    "bot.extras.fleet",
    "bot.extras.waves",
    "bot.extras.profiles",
    "bot.extras.captures",
    "bot.extras.bundles",
    "bot.extras.marks",
    "bot.extras.unusual",
)
