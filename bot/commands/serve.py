"""`zombie serve`: the bot in Slack."""

from __future__ import annotations

import argparse

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "serve",
        "run the bot in Slack, in the foreground",
        "Run the bot in Slack until SIGTERM or Ctrl-C. It logs JSON lines to stderr, and serves /healthz and /readyz "
        "on ZOMBIE_LISTEN. Tokens come from the environment: SLACK_BOT_TOKEN, and SLACK_APP_TOKEN (Socket Mode) or "
        "SLACK_SIGNING_SECRET (HTTP).",
        "example:\n  SLACK_BOT_TOKEN=xoxb-… SLACK_APP_TOKEN=xapp-… zombie serve --inventory inventory.toml",
        group="start here",
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from bot.app.service import serve
    from bot.settings import database_url

    settings, known = options.site(arguments)
    return serve(settings, known, database_url(arguments.environ), arguments.environ, arguments.extras.serving)
