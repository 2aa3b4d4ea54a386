"""The tables, for queries: what each of them holds; `migrations.py` creates them."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

_METADATA = MetaData()

# The source of truth: the other tables are derived from it, or are not about what happened.
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

# A row per incident, updated with every entry, so that a list does not fold everything. `change` numbers the changes
# of all incidents: the row that changed last has the greatest.
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

# `number` is the order in which parts were first stored; `version` counts the posts of an (incident, part).
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

# When the next post to a channel is allowed: programs that limit their rate reserve their slots here.
TURNS = Table(
    "turns",
    _METADATA,
    Column("channel", Text, primary_key=True),
    Column("free_at", Text, nullable=False),
)

# Exclusive holds on nodes: a row per node, from an incident's first step to its end. `machine_id` is empty where nobody
# knows it: a machine may have several names.
HOLDS = Table(
    "holds",
    _METADATA,
    Column("node", Text, primary_key=True),
    Column("incident", Text, nullable=False),
    Column("step", Integer, nullable=False),
    Column("runner", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("beat_at", Text, nullable=False),
    Column("machine_id", Text, nullable=False),
)

# Every incident whose plan was begun, and when: for the budgets per hour and day. `remedy` names the plan with its
# node, `cure` without.
ATTEMPTS = Table(
    "attempts",
    _METADATA,
    Column("incident", Text, primary_key=True),
    Column("node", Text, nullable=False),
    Column("remedy", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("machine_id", Text, nullable=False),
    Column("cure", Text, nullable=False),
)

# The machine-id that each node showed last.
MACHINES = Table(
    "machines",
    _METADATA,
    Column("node", Text, primary_key=True),
    Column("machine_id", Text, nullable=False),
)

# Refusals by who was refused what: since when, how many entries that made, and how many were only counted.
REFUSALS = Table(
    "refusals",
    _METADATA,
    Column("by", Text, primary_key=True),
    Column("refusal", Text, primary_key=True),
    Column("wish", Text, primary_key=True),
    Column("since", Text, nullable=False),
    Column("told", Integer, nullable=False),
    Column("counted", Integer, nullable=False),
)

# The programs that serve at this ledger, with their last heartbeat.
RUNNERS = Table(
    "runners",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("beat_at", Text, nullable=False),
)

# Which program handles a group of incidents: shows its card, reads its nodes, executes its plans.
LEASES = Table(
    "leases",
    _METADATA,
    Column("group", Text, primary_key=True),
    Column("runner", Text, nullable=False),
)

# Deliveries of sources, by the source's own id, in the order of `number`.
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

# What people asked for in a chat, by the chat's id of each delivery. `runner` handles it, or did when it died.
CHAT_REQUESTS = Table(
    "wishes",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("kept_at", Text, nullable=False),
    Column("runner", Text, nullable=False),
    Column("done", Boolean, nullable=False),
)

# A row a wave, updated with every entry: a step of it begins only where the wave runs and has given its incident the
# turn. `turns` is a JSON list of those incidents.
WAVES = Table(
    "waves",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("until", Text, nullable=False),
    Column("turns", Text, nullable=False),
    Column("ended", Boolean, nullable=False),
)

# What the nodes of incidents said: cases, compressed, by their content hash.
KEPT_CASES = Table(
    "kept_cases",
    _METADATA,
    Column("incident", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("kept_at", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

# What was counted on nodes, a number for each look; `boot` is the boot it was counted in.
READINGS = Table(
    "readings",
    _METADATA,
    Column("node", Text, primary_key=True),
    Column("cause", Text, primary_key=True),
    Column("at", Text, primary_key=True),
    Column("value", Float, nullable=False),
    Column("boot", Text, nullable=False),
)

# The last posted digest of each scheduled sweep.
SWEEPS = Table(
    "sweeps",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("told", Text, nullable=False),
)

# Each case of a source and its group of incidents. `over_at` is empty while it fires; with `delivery` it last began.
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
    Column("reopened_at", Text, nullable=False),  # when its source says that it was reopened last; empty: never
)
