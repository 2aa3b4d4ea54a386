"""`zombie mark`: say whether the verdict of a closed incident was right."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from bot.commands import options

SAID = ("right", "wrong", "back")

_EXAMPLES = """examples:
  zombie mark 7k3m9x2qpv right
  zombie mark 7k3m9x2qpv wrong --was io-stall
                                    then keep it as a test: zombie playbooks keep 7k3m9x2qpv --dir DIR --expect io-stall
  zombie mark 7k3m9x2qpv back       takes back what you said
  zombie playbooks stats            how often each cause was right

exit status:
  0  it is on record; the cause's score is on stdout
  1  refused (the refusal's name is on stderr): it is not closed, has no verdict, or you marked too many lately
  2  the command line is wrong, or there is no such incident
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "mark",
        "say whether the verdict of a closed incident was right",
        "Record whether a verdict was right, like the two buttons on a closed card. Each person has a single mark for "
        "an incident: a later mark replaces it. Where three people who may approve (or all, if they are fewer) last "
        "said wrong, and fewer than 80 % of them right, the cause is still diagnosed, but offers no plan until one who "
        "may approve has looked at it (zombie playbooks looked-at). Where [policy] names approvers, a mark counts if "
        "terminal_approvers names your login.",
        _EXAMPLES,
        group="record",
    )
    parser.add_argument("id", metavar="ID", help="the incident's id, or the beginning of it")
    parser.add_argument(
        "said", choices=SAID, metavar="right|wrong|back", help="what the verdict was, or back: take that back"
    )
    parser.add_argument("--was", default="", metavar="TEXT", help="what it was instead: a cause, none, or in words")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings, as TOML (else ./zombie.toml)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UnknownIncident, UsageError when no id, or several, begin like this; LedgerUnavailable; Refused.
    """
    from bot.app.factories import now
    from bot.app.policy_settings import policy_as_written
    from bot.commands import open_record
    from bot.commands.terminal_login import terminal_user
    from bot.domain.safe_text import one_line
    from bot.extras.marks.marker import VerdictMarker, reply_words
    from bot.extras.marks.store import MarkStore
    from bot.response.incident_record import IncidentRecord

    by = terminal_user(arguments.environ)
    policy = policy_as_written(options.settings(arguments))
    incident_id = open_record.complete_id(arguments.environ, arguments.id)
    with open_record.stores(arguments.environ) as stores:
        incident = asyncio.run(IncidentRecord(stores.ledger).find(incident_id))
        marker = VerdictMarker(policy, MarkStore(stores.database), now)
        done = asyncio.run(
            marker.mark(
                incident,
                arguments.said == "right",
                by,
                os_user=by.removeprefix("terminal:"),
                was=arguments.was,
                taken_back=arguments.said == "back",
            )
        )
    print(options.as_typed_here(arguments, one_line(reply_words(incident, done), 1000)))
    if not done.counts:
        print(f"It does not count: [policy] terminal_approvers does not name {by.removeprefix('terminal:')}.")
    return 0
