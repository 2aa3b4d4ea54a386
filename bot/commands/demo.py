"""`zombie demo`: simulated nodes, Slack and PagerDuty to try everything with."""

from __future__ import annotations

import argparse
import errno

from bot.commands import options
from bot.commands.parser import program_as_called
from bot.domain.errors import UsageError


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "demo",
        "try everything with simulated nodes, Slack and PagerDuty",
        "Start a fleet of simulated nodes behind real SSH on loopback, with a simulated Slack and PagerDuty in the "
        "browser. Check the nodes, then offer a prompt. Needs no account, no root and no network.",
        "examples:\n  zombie demo\n  zombie demo --slack-port 8091 --pagerduty-port 8092   fixed ports, for a tunnel",
        group="start here",
    )
    parser.add_argument(
        "--samples", type=options.window, default=5, metavar="N", help="sample for N seconds (default 5)"
    )
    parser.add_argument(
        "--slack-port", type=port, default=0, metavar="PORT", help="where Slack's page is (default: a free port)"
    )
    parser.add_argument(
        "--pagerduty-port",
        type=port,
        default=0,
        metavar="PORT",
        help="where PagerDuty's page is (default: a free port)",
    )
    parser.set_defaults(run=run)


def port(text: str) -> int:
    """Parse the number of a port."""
    number = int(text)
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: 1 to 65535")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status. An interrupt cleans up."""
    from bot.app.demo import Ports, demo

    ports = Ports(arguments.slack_port, arguments.pagerduty_port)
    try:
        return demo(arguments.samples, program_as_called(arguments.environ), ports)
    except OSError as no:
        if no.errno != errno.EADDRINUSE:
            raise
        raise UsageError("A port of the demo is in use.", "Name others, or none: then free ports are used.") from no
