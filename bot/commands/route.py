"""`zombie route`: show what would happen to an alert, without doing it."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.commands import options
from bot.domain.errors import MalformedDelivery, UsageError

if TYPE_CHECKING:
    from bot.domain.alert import AlertGroup
    from bot.response.intake.routing import NamedNodes, Route

_LIMIT_BYTES = 8 * 1024 * 1024
_ABOUT = """FILE is what a source sends: a PagerDuty event, {"event": …}, or the body of Alertmanager's or Grafana's
webhook. A PagerDuty event does not contain its alerts; add them as PagerDuty's REST API returns them:
{"event": …, "alerts": […]}, or {"incident": …, "alerts": […]}. Nothing is contacted or stored.

example:
  zombie route explain alert.json --json"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "route",
        "show which nodes an alert names, and which route it takes",
        "Show what would happen to an alert: the nodes that it names, and the [[route]] that it takes.",
        "example:\n  zombie route explain alert.json",
        group="rules",
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    explain = options.add_parser(
        verbs, "explain", "alert → nodes → route", "Show which nodes an alert names, and which route it takes.", _ABOUT
    )
    explain.add_argument("file", metavar="FILE", help="the alert, as JSON; - is stdin")
    explain.add_argument("--source", metavar="SOURCE", help="the source (default: recognised from the file)")
    explain.add_argument("--json", action="store_true", help="print it as JSON")
    options.add_files(explain)
    explain.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print nodes and route.

    Raises: UsageError when the file is not an alert, or the settings cannot be used.
    """
    from bot.app.alerts import named_nodes_and_route, rules_of
    from bot.response.intake.routing import Names
    from bot.sources import parse_file
    from bot.sources.body import know_names

    settings = options.settings(arguments)
    rules = rules_of(settings, options.library(settings))
    names = functools.cache(lambda: Names(options.inventory(arguments, settings).nodes))
    know_names(lambda text: names().words_in(text))
    try:
        parsed = parse_file(_read_file(arguments.file), arguments.source)
    except MalformedDelivery as no:
        wanted = "It should be the body of a source's webhook."
        raise UsageError(f"{arguments.file} is not an alert: {no.sentence}", wanted) from no
    if (alarm := parsed.delivery.alarm) is None:
        raise UsageError(f"{arguments.file} starts nothing: {parsed.delivery.what or 'it contains no alert'}.")
    named, route, own = named_nodes_and_route(alarm, parsed.signals, rules, names())
    body = _route_body(alarm, named, route, own)
    options.print_result(arguments, body, _route_text(alarm, named, route, own))
    return 0


def _read_file(file: str) -> bytes:
    try:
        raw = sys.stdin.buffer.read(_LIMIT_BYTES + 1) if file == "-" else Path(file).read_bytes()
    except OSError as no:
        raise UsageError(f"{file} cannot be read: {no.strerror}.") from no
    if len(raw) > _LIMIT_BYTES:
        raise UsageError(f"{file} is longer than 8 MiB.")
    return raw


def _route_body(alarm: AlertGroup, named: NamedNodes, route: Route, own: Mapping[str, Route]) -> dict[str, Any]:
    return {
        "alert": {
            "source": alarm.source,
            "id": alarm.case,
            "title": alarm.title,
            "happening": alarm.happening.value,
            "occurred_at": alarm.occurred_at.isoformat() if alarm.occurred_at is not None else None,
        },
        "nodes": list(named.nodes),
        "ambiguous": {value: list(nodes) for value, nodes in named.ambiguous.items()},
        "asks": not named.nodes or bool(named.ambiguous),
        "unseen_alerts": alarm.unseen,
        "route": {
            "number": route.number or None,
            "match": dict(route.match),
            "playbook": route.playbook,
            "channel": route.channel or None,
            "mode": route.mode,
        },
        "node_routes": {
            node: {"number": its.number or None, "playbook": its.playbook, "mode": its.mode}
            for node, its in own.items()
        },
    }


def _route_text(alarm: AlertGroup, named: NamedNodes, route: Route, own: Mapping[str, Route]) -> str:
    lines = [f"alert   {alarm.source} {alarm.case}, {alarm.happening.value}: {alarm.title or 'without a title'}"]
    lines.append(f"nodes   {', '.join(named.nodes) or 'none: the card would ask which node is meant'}")
    lines += [
        f"        “{value}” may be {' or '.join(nodes)}: the card would ask" for value, nodes in named.ambiguous.items()
    ]
    if alarm.unseen:
        lines.append(f"        {alarm.unseen} more alerts were left out by {alarm.source}")
    lines.append(f"route   {_which(route)}")
    where = f"in channel {route.channel}" if route.channel else "in no channel: [slack] alerts_channel is not set"
    lines.append(f"        playbook {route.playbook}, {where}; {_offers(route)}")
    lines += [
        f"        {node} by its own alerts: {_which(its)}; playbook {its.playbook}; {_offers(its)}"
        for node, its in own.items()
        if its != route
    ]
    return "\n".join(lines)


def _which(route: Route) -> str:
    return f"[[route]] {route.number}, for {route.words}" if route.number else "no route fits: the defaults apply"


def _offers(route: Route) -> str:
    return f"{route.mode}: it {'offers nothing' if route.is_read_only else 'may offer a plan'}"
