"""`zombie audit`: verify the record, and export it."""

from __future__ import annotations

import argparse
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options

if TYPE_CHECKING:
    from bot.ledger import Database
    from bot.surfaces.slack.posted_heads import PostedHeads

_EXAMPLES = """examples:
  zombie audit verify
  zombie audit verify --head 412:3f9a1c04b7de52c0a8e91d7734bb06f2    as shown on a closing card, after “record”
  zombie audit verify --from-slack --since 7d
  zombie audit verify incident.jsonl                           a file of zombie incidents export
  zombie audit export > record.jsonl
"""
_EXIT_CODES = """exit status:
  0  the record is intact
  1  it is broken; each line names a fault
  2  there is no entry, not all of it can be read, or Slack cannot, or what was found in Slack cannot prove it
"""
_CHANNEL = re.compile(r"[CG][A-Z0-9]{5,}\Z")  # a Slack channel; the ids of PagerDuty's notes do not match


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "audit",
        "verify that the record is intact, or export it",
        "Every entry of the record is chained to the entry before by a hash. Verify the chain, or export the entries.",
        _EXAMPLES,
        group="record",
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    verify = options.add_parser(
        verbs,
        "verify",
        "recompute every hash and list what is broken",
        "Recompute the hash of every entry, compare each incident with its notes in the stream house and with the "
        "tables that follow from it, look whether the database still keeps entries from being changed, and list what "
        "is broken as INCIDENT/ENTRY. A record that was cut off or rewritten as a whole shows only against a head that "
        "was noted elsewhere: every closing card, every note and the reply to every yes shows a head.",
        _EXIT_CODES,
    )
    verify.add_argument(
        "--head",
        type=options.parse_head,
        action="append",
        default=[],
        metavar="SEQ:HASH",
        help="a head that the record must contain, with 32 digits or more; may be repeated. A hash alone works too",
    )
    verify.add_argument(
        "--from-slack",
        action="store_true",
        help="read the heads that the bot posted back from Slack, and compare; the app needs channels:history "
        "(groups:history for private channels), which its manifest does not ask for",
    )
    verify.add_argument(
        "--channel",
        type=_channel,
        action="append",
        default=[],
        metavar="ID",
        help="with --from-slack: read this channel; may be repeated (default: those in the settings, and those "
        "to which cards were posted)",
    )
    verify.add_argument(
        "--since",
        type=options.duration,
        default=timedelta(days=30),
        metavar="TIME",
        help="with --from-slack: how far back, such as 7d (default: 30d). Each card's thread is a call, and Slack "
        "takes about 50 a minute",
    )
    verify.add_argument("--config", type=Path, metavar="FILE", help="settings, as TOML (else ./zombie.toml)")
    verify.set_defaults(run=run_verify)
    export = verbs.add_parser("export", help="print every entry as a line of JSON, in order of time")
    export.set_defaults(run=run_export)


def run_verify(arguments: argparse.Namespace) -> int:
    """Verify, and return 0 if the record is intact.

    Raises: UsageError when Slack or the record cannot be read.
    """
    from bot.app.extras import seat_values
    from bot.commands import open_record
    from bot.domain.safe_text import one_line
    from bot.ledger import audit

    options.escape_unencodable_output()
    with open_record.open_existing(arguments.environ) as database:
        posted = _from_slack(arguments, database) if arguments.from_slack else None
        noted = [*arguments.head, *(posted.heads if posted is not None else ())]
        found = audit(database, noted, seat_values(arguments.extras.on, "follows"))
    counted = f"{found.entries} entries, {found.incidents} incident{'s' * (found.incidents != 1)}"
    lines = [f"broken: {broken}" for broken in found.broken]
    if posted is not None:
        lines.append(f"heads in Slack: {len(posted.heads)} compared")
        lines += [f"not read in Slack: {channel} ({why})" for channel, why in posted.unread.items()]
        lines += [f"not compared: {unfit}" for unfit in posted.unfit]
    lines += [f"not read: {unread}" for unread in found.unread]
    for line in lines:
        print(one_line(line, 600))
    if found.gone:
        counts = f"{found.gone} entr{'y names' if found.gone == 1 else 'ies name'}"
        print(f"not kept: what nodes said, which {counts}", file=sys.stderr)
    if found.broken:
        print(f"{len(found.broken)} broken of {counted}")
        return 1
    if found.unread:
        print(f"not all read: {len(found.unread)} of {counted}", file=sys.stderr)
        return 2
    if not found.entries:
        print(
            "empty: no entry could be checked. A record that was replaced shows against a head: --head", file=sys.stderr
        )
        return 2
    but = ""
    if found.stepped_over:
        streams = f"{found.stepped_over} stream{'s' * (found.stepped_over != 1)}"
        but = f" but for {streams} of an extra that is left out, of which only the chains were checked"
    print(f"whole{but}: {counted}; the house ends with {found.house.noted or 'no entry'}")
    if posted is not None and (posted.unread or posted.unfit or not posted.heads):
        print("The record agrees with itself, but not all of it was compared with Slack.", file=sys.stderr)
        return 2
    return 0


def _from_slack(arguments: argparse.Namespace, database: Database) -> PostedHeads:
    """Read the posted heads. Raises: UsageError when Slack cannot be read; SettingsError when it is not set up."""
    import asyncio

    from bot.app.factories import now
    from bot.domain.errors import UsageError
    from bot.ledger import Outbox
    from bot.surfaces.slack.posted_heads import posted_heads
    from bot.surfaces.slack.tokens import SlackTokens

    settings = options.settings(arguments)
    tokens = SlackTokens.of(*settings.slack.access)
    routed = (route.channel for route in settings.routes)
    named = {*settings.slack.channels, settings.slack.alerts_channel, *routed, *Outbox(database).channels.now()}
    channels = frozenset(arguments.channel) or {channel for channel in named if _CHANNEL.match(channel)}
    if not channels:
        raise UsageError("No channel with cards is known.", "Name a channel: --channel C0123456789")
    return asyncio.run(posted_heads(tokens.bot, tokens.api_url, channels, now() - arguments.since))


def run_export(arguments: argparse.Namespace) -> int:
    """Print every entry."""
    from bot.commands import open_record
    from bot.ledger import exported

    with open_record.open_existing(arguments.environ) as database:
        for line in exported(database):
            print(line)
    return 0


def _channel(text: str) -> str:
    if not _CHANNEL.match(text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not the id of a channel, such as C0123456789")
    return text
