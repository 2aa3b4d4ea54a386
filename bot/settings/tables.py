"""What may stand in zombie.toml beside the settings: the tables of later rooms, known by key and kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TypeAlias

from bot.domain.duration import parse_day_span
from bot.domain.nearest import did_you_mean
from bot.domain.safe_text import one_line
from bot.domain.toml_table import TomlTable

# systemd.unit(5); no pattern, for what stands here goes into sudoers and to systemctl word for word.
_UNIT = re.compile(r"(?!-)[A-Za-z0-9:_.\\@-]{1,200}\.(?:service|socket|timer|path)\Z")
_MEMBER = re.compile(r"[UW][A-Z0-9]+\Z")
Check: TypeAlias = Callable[[TomlTable, str], object]  # notes what is wrong with the key's value


def _text(table: TomlTable, key: str) -> object:
    return table.text(key)


def _texts(table: TomlTable, key: str) -> object:
    return table.texts(key)


def _flag(table: TomlTable, key: str) -> object:
    return table.flag(key)


def _duration(table: TomlTable, key: str) -> object:
    duration = table.duration(key)
    if duration == timedelta(0):
        table.wrong(key, 'should be more than 0, like "15m"')
    return duration


def _count(low: int = 0, high: int = 1_000_000) -> Check:
    return lambda table, key: table.integer(key, low, high)


def _one_of(*words: str) -> Check:
    def check(table: TomlTable, key: str) -> object:
        word = table.text(key)
        if word is not None and word not in words:
            table.wrong(key, f'is "{word[:40]}". {did_you_mean(word, words)}')
        return word

    return check


def _texts_by_name(table: TomlTable, key: str) -> object:
    inner = table.table(key)
    return {name: inner.text(name) for name in inner.names} if inner is not None else None


def _counts_by_name(table: TomlTable, key: str) -> object:
    inner = table.table(key)
    return {name: inner.integer(name, 1, 1_000_000) for name in inner.names} if inner is not None else None


def _patterns(table: TomlTable, key: str) -> object:
    for pattern in table.texts(key) or ():
        try:
            re.compile(pattern)
        except re.error as no:
            table.wrong(key, f'holds "{one_line(pattern, 40)}", which is no regular expression: {no}')
    return None


def _units(table: TomlTable, key: str) -> object:
    for unit in table.texts(key) or ():
        if _UNIT.match(unit) is None:
            table.wrong(key, f'holds "{one_line(unit, 60)}"; a unit is written whole and alone, like "ecs.service"')
    return None


def _terminal_approvers(table: TomlTable, key: str) -> object:
    for one in table.texts(key) or ():
        name, tied, user = (part.strip() for part in one.partition("="))
        # Tied to nobody, one person could ask in Slack and approve in a terminal, and nothing would say so.
        if not name or (tied and _MEMBER.match(user) is None):
            table.wrong(key, f'holds "{one_line(one, 60)}"; write "alice", or with a Slack member ID "alice=U012AB3CD"')
    return None


def _day_spans(table: TomlTable, key: str) -> object:
    for span in table.texts(key) or ():
        try:
            parse_day_span(span)
        except ValueError as no:
            table.wrong(key, str(no))
    return None


TABLES: Mapping[str, Mapping[str, Check]] = {
    "slack": {"channels": _texts, "alerts_channel": _text, "each_at_once": _count(1)},
    "policy": {
        "approvers": _texts,
        "approver_groups": _texts,
        "terminal_approvers": _terminal_approvers,
        "self_approval": _flag,
        "approvals": _count(1, 100),
        "approvals_for_several": _count(1, 100),
        "approval_expires": _duration,
        "quiet": _day_spans,
        "acting": _flag,
        "cooldown": _duration,
        "stale_after": _duration,
    },
    "act": {
        "units": _units,
        "validation": _duration,
        "reboot_deadline": _duration,
        "max_nodes_at_once": _count(1),
        "per_hour": _count(),
        "per_label": _counts_by_name,
        "percent": _count(0, 100),
    },
    "pagerduty": {
        "subscription": _text,
        "watch_every": _duration,
        "relist_every": _duration,
        "poll": _flag,
        "poll_every": _duration,
        "node_paths": _texts,
        "node_patterns": _patterns,
        "fields": _texts_by_name,
    },
    "grafana": {"timestamp_header": _text, "window": _duration},
    "storm": {"alerts": _count(1), "window": _duration},
}
_SSH_ACT: Mapping[str, Check] = {"user": _text, "key": _text}
_ROUTE: Mapping[str, Check] = {
    "match": _texts_by_name,
    "playbook": _text,
    "channel": _text,
    "mode": _one_of("read-only", "remedies"),
}
NAMES = (*TABLES, "ssh", "route")


def check_tables(top: TomlTable) -> None:
    """Note whatever is wrong in the tables that are there."""
    for name, keys in TABLES.items():
        if (table := top.table(name)) is not None:
            _check(table, keys)
    if (ssh := top.table("ssh")) is not None:
        ssh.only(("act",))  # how nodes are reached for reading stands in the inventory
        if (act := ssh.table("act")) is not None:
            _check(act, _SSH_ACT)
    for route in top.array("route"):
        _check(route, _ROUTE)


def _check(table: TomlTable, keys: Mapping[str, Check]) -> None:
    table.only(keys)
    for key, check in keys.items():
        check(table, key)
