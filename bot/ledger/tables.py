"""The tables as queries name them; `migrations.py` makes them."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Integer, MetaData, Table, Text

_METADATA = MetaData()

# Nothing else is true: the other tables follow from this one, or are not about what happened.
ENTRIES = Table(
    "entries",
    _METADATA,
    Column("stream", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

# One line an incident, kept with every entry, so that a list need not fold everything that ever happened. `change`
# counts the entries of all of them: the line that changed last has the greatest.
INCIDENTS = Table(
    "incidents",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("node", Text, nullable=False),
    Column("group", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("cause", Text),
    Column("source", Text, nullable=False),
    Column("source_id", Text, nullable=False),
    Column("opened_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("change", Integer, nullable=False),
)

# `number` is the order in which parts were first kept; `version` counts what was kept under one (incident, part).
POSTS = Table(
    "posts",
    _METADATA,
    Column("incident", Text, primary_key=True),
    Column("part", Text, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("channel", Text, nullable=False),
    Column("under", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("kept_at", Text, nullable=False),
    Column("due_at", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("waiting", Boolean, nullable=False),
    Column("place_channel", Text),
    Column("place_ts", Text),
)

# From when on a channel may be posted to: where posts keep a distance, every program takes its turn here.
TURNS = Table(
    "turns",
    _METADATA,
    Column("channel", Text, primary_key=True),
    Column("free_at", Text, nullable=False),
)

# Who has a node to themselves: one row a node, from an incident's first step to its end.
HOLDS = Table(
    "holds",
    _METADATA,
    Column("node", Text, primary_key=True),
    Column("incident", Text, nullable=False),
    Column("step", Integer, nullable=False),
    Column("runner", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("beat_at", Text, nullable=False),
)

# Every incident whose plan began to be carried out, and when: what budgets by the hour and the day are counted by.
ATTEMPTS = Table(
    "attempts",
    _METADATA,
    Column("incident", Text, primary_key=True),
    Column("node", Text, nullable=False),
    Column("remedy", Text, nullable=False),
    Column("at", Text, nullable=False),
)

# The programs that serve at this ledger, and when each was last heard of.
RUNNERS = Table(
    "runners",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("beat_at", Text, nullable=False),
)

# Which of them sees to a group of incidents: shows its card, reads its nodes, carries out its plans.
LEASES = Table(
    "leases",
    _METADATA,
    Column("group", Text, primary_key=True),
    Column("runner", Text, nullable=False),
)

# What sources brought: a row each, known by the source's own id of it, in the order of `number`.
DELIVERIES = Table(
    "deliveries",
    _METADATA,
    Column("source", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("case", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("kept_at", Text, nullable=False),
    Column("due_at", Text, nullable=False),
    Column("runner", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("done", Boolean, nullable=False),
)

# Each case of a source, and the group of incidents it has; `over_at` is empty while it fires, `delivery` is the one by
# which it last began.
CASES = Table(
    "cases",
    _METADATA,
    Column("source", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("group", Text, nullable=False),
    Column("turn", Text, nullable=False),
    Column("delivery", Text, nullable=False),
    Column("opened_at", Text, nullable=False),
    Column("over_at", Text, nullable=False),
    Column("storm", Text, nullable=False),
)
