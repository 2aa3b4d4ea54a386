"""`zombie mcp`: let an assistant ask for verdicts, by the Model Context Protocol."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bot.commands import options
from bot.domain.errors import UsageError

if TYPE_CHECKING:
    from bot.ledger import CaseStore, Ledger

_EXAMPLES = """examples:
  zombie mcp --inventory inventory.toml           for a client that starts it, on stdin and stdout
  ZOMBIE_MCP_TOKEN=… zombie mcp --http            for clients that call it, on ZOMBIE_LISTEN (127.0.0.1:8080/mcp)
  ZOMBIE_MCP_TOKEN=… zombie mcp --http 0.0.0.0:9000

A running `zombie serve` has /mcp too, once ZOMBIE_MCP_TOKEN is set. How clients are set up: docs/mcp.md

exit status:
  0  the client closed stdin; with --http, the program was told to stop
  2  the command line, or a file it names, is wrong; the package mcp is not installed
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "mcp",
        "let an assistant ask for verdicts, by MCP",
        "Serve four tools by the Model Context Protocol: check, incidents, incident, explain. They read nodes and the "
        "record; none of them acts. Where there is a record, each check is in it with the source mcp.",
        _EXAMPLES,
        group="run",
    )
    parser.add_argument(
        "--http",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="serve Streamable HTTP at ADDRESS/mcp (default: ZOMBIE_LISTEN), for clients with ZOMBIE_MCP_TOKEN",
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UsageError when the token is missing, or a file is wrong; SettingsError when the package is not installed.
    """
    from bot.app.json_log import JsonLog
    from bot.commands.terminal_login import terminal_user
    from bot.extras.mcp.answers import Asker
    from bot.extras.mcp.serving import asker_of, lone_toolbox, not_installed, serve_alone
    from bot.extras.mcp.settings import McpSettings

    settings, known = options.site(arguments)
    by_http = arguments.http is not None
    if by_http and not settings.of(McpSettings).token:
        raise UsageError(
            "ZOMBIE_MCP_TOKEN is not set, so no client could log in.",
            "Set it to a long random text, for example from: openssl rand -hex 32",
        )
    login = terminal_user(arguments.environ)
    asker = asker_of(settings) if by_http else Asker(login, login.removeprefix("terminal:"))
    json_log = JsonLog(secrets=settings.secrets)
    with json_log.library_logs(), _open_record(arguments) as (ledger, cases):
        toolbox = lone_toolbox(settings, known, asker, ledger, cases, arguments.environ, json_log.log)
        if by_http:
            asyncio.run(serve_alone(settings, toolbox, json_log, arguments.http or settings.listen))
            return 0
        try:
            from bot.extras.mcp.server import serve_stdio
        except ImportError as no:
            raise not_installed() from no
        asyncio.run(serve_stdio(toolbox))
    return 0


@contextlib.contextmanager
def _open_record(arguments: argparse.Namespace) -> Iterator[tuple[Ledger | None, CaseStore | None]]:
    """The record, where it exists; as in a terminal, a check does not create it."""
    from bot.commands import open_record

    with open_record.open_if_there(arguments.environ) as database:
        if database is None:
            yield None, None
            return
        stores = open_record.stores_of(database)
        yield stores.ledger, stores.cases
