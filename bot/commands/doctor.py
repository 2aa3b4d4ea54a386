"""`zombie doctor`: check everything the bot needs, and say how to fix what is wrong."""

from __future__ import annotations

import argparse

from bot.commands import options

_EXIT_CODES = """exit status:
  0  nothing is wrong
  1  something is wrong; each line says what to do
  2  the command line, or a file it names, is wrong

examples:
  zombie doctor
  zombie doctor --nodes 20 --json
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "doctor",
        "check everything the bot needs, and say how to fix what is wrong",
        "Check Slack (tokens, scopes, Socket Mode, approvers), PagerDuty (key, subscription, signature by a ping), a "
        "sample of nodes (SSH, sudo, clock), the database, the disk and the policy. The checks run at the same time, "
        "each with a time limit. Nothing is changed.",
        _EXIT_CODES,
        group="start here",
    )
    parser.add_argument(
        "--nodes", type=options.positive, default=5, metavar="N", help="how many nodes to check (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    import asyncio

    from bot.app.doctor import Doctor
    from bot.app.terminal_progress import terminal_width
    from bot.domain.doctor_finding import all_well
    from bot.settings import database_url
    from bot.surfaces.doctor_report import examination_body, examination_text

    settings, known = options.site(arguments)
    url = database_url(arguments.environ)

    async def examine() -> int:
        doctor = Doctor(settings, known, url, arguments.environ, arguments.nodes, extras=arguments.extras)
        found = await doctor.examined()
        text = examination_text(found, terminal_width(), options.wants_colour(arguments))
        options.print_result(arguments, examination_body(found), text)
        return 0 if all_well(found) else 1

    return asyncio.run(examine())
