"""`zombie demo`: a fleet of simulated nodes to try everything on."""

from __future__ import annotations

import argparse
import signal

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "demo",
        help="a fleet of simulated nodes to try everything on",
        description="Start a fleet of simulated nodes behind real SSH on loopback, check it, and leave a prompt. "
        "Needs no account, no root and no network.",
    )
    parser.add_argument(
        "--samples", type=options.window, default=5, metavar="N", help="watch for N seconds (default 5)"
    )
    parser.add_argument(
        "--lab",
        action="store_true",
        help="nodes with a real kernel in place of simulated ones: the lab's that is up, else one is booted and made "
        "sick for real, which takes minutes (see zombie lab)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status; an interruption leaves nothing behind."""
    command = arguments.environ.get("ZOMBIE_COMMAND", "./zombie")
    if not arguments.lab:
        from bot.app.demo import demo

        return demo(arguments.samples, command)
    from bot.app.lab_demo import demo_on_lab

    for number in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C
        signal.signal(number, signal.default_int_handler)
    return demo_on_lab(arguments.samples, command, arguments.environ)
