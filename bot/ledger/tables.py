"""The tables, for queries: what each of them holds; `migrations.py` creates them."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary, MetaData, Table, Text

_METADATA = MetaData()


def _keys(*names: str) -> list[Column[str]]:
    return [Column(name, Text, primary_key=True) for name in names]


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


# The source of truth: the other tables are derived from it, or are not about what happened.
ENTRIES = Table(
    "entries",
    _METADATA,
    *_keys("stream"),
    Column("seq", Integer, primary_key=True),
    *_texts("at", "by", "kind", "body", "hash"),
)

# A row per incident, updated with every entry, so that a list does not fold everything. `change` numbers the changes
# of all incidents: the row that changed last has the greatest.
INCIDENTS = Table(
    "incidents",
    _METADATA,
    *_keys("id"),
    *_texts("node", "group", "state"),
    Column("cause", Text),
    *_texts("source", "source_id", "opened_at", "updated_at"),
    Column("ended", Boolean, nullable=False),
    Column("change", Integer, nullable=False),
)

# `number` is the order in which parts were first stored; `version` counts the posts of an (incident, part).
POSTS = Table(
    "posts",
    _METADATA,
    *_keys("incident", "part"),
    Column("number", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    *_texts("channel", "under", "content", "kept_at", "due_at"),
    Column("attempts", Integer, nullable=False),
    *_texts("error"),
    Column("waiting", Boolean, nullable=False),
    Column("place_channel", Text),
    Column("place_ts", Text),
)

# When the next post to a channel is allowed: older programs at the same record reserve their slots here.
TURNS = Table("turns", _METADATA, *_keys("channel"), *_texts("free_at"))

# Exclusive holds on nodes: a row per node, from an incident's first step to its end. `machine_id` is empty where nobody
# knows it: a machine may have several names.
HOLDS = Table(
    "holds",
    _METADATA,
    *_keys("node"),
    *_texts("incident"),
    Column("step", Integer, nullable=False),
    *_texts("runner", "labels", "beat_at", "machine_id"),
)

# Every incident whose plan was begun, and when: for the budgets per hour and day. `remedy` names the plan with its
# node, `cure` without.
ATTEMPTS = Table("attempts", _METADATA, *_keys("incident"), *_texts("node", "remedy", "at", "machine_id", "cure"))

# The machine-id that each node showed last.
MACHINES = Table("machines", _METADATA, *_keys("node"), *_texts("machine_id"))

# Refusals by who was refused what: since when, how many entries that made, and how many were only counted.
REFUSALS = Table(
    "refusals",
    _METADATA,
    *_keys("by", "refusal", "wish"),
    *_texts("since"),
    Column("told", Integer, nullable=False),
    Column("counted", Integer, nullable=False),
)

# The programs that serve at this ledger, with their last heartbeat.
RUNNERS = Table("runners", _METADATA, *_keys("id"), *_texts("beat_at"))

# Which program handles a group of incidents: shows its card, reads its nodes, executes its plans.
LEASES = Table("leases", _METADATA, *_keys("group"), *_texts("runner"))

# Deliveries of sources, by the source's own id, in the order of `number`.
DELIVERIES = Table(
    "deliveries",
    _METADATA,
    *_keys("source", "id"),
    Column("number", Integer, nullable=False),
    *_texts("case", "body", "kept_at", "due_at", "runner"),
    Column("attempts", Integer, nullable=False),
    *_texts("error"),
    Column("done", Boolean, nullable=False),
)

# What people asked for in a chat, by the chat's id of each delivery. `runner` handles it, or did when it died.
CHAT_REQUESTS = Table(
    "wishes",
    _METADATA,
    *_keys("id"),
    *_texts("key", "body", "kept_at", "runner"),
    Column("done", Boolean, nullable=False),
)

# A row a wave, updated with every entry: a step of it begins only where the wave runs and has given its incident the
# turn. `turns` is a JSON list of those incidents.
WAVES = Table(
    "waves",
    _METADATA,
    *_keys("id"),
    *_texts("state", "until", "turns"),
    Column("ended", Boolean, nullable=False),
)

# What the nodes of incidents said: cases, compressed, by their content hash.
KEPT_CASES = Table(
    "kept_cases",
    _METADATA,
    *_keys("incident", "digest"),
    *_texts("kept_at"),
    Column("body", LargeBinary, nullable=False),
)

# What was counted on nodes, a number for each look; `boot` is the boot it was counted in.
READINGS = Table(
    "readings",
    _METADATA,
    *_keys("node", "cause", "at"),
    Column("value", Float, nullable=False),
    *_texts("boot"),
)

# The last posted digest of each scheduled sweep.
SWEEPS = Table("sweeps", _METADATA, *_keys("name"), *_texts("told"))

# Each alert of a source's case, by node. `at` is when it began, or began again, by the ledger's clock; `since` is the
# same by its source's. `opened`: its delivery opened an incident of the node, which counts it.
SIGNALS = Table(
    "signals",
    _METADATA,
    *_keys("source", "name", "key", "node"),
    *_texts("at", "since"),
    Column("firing", Boolean, nullable=False),
    Column("opened", Boolean, nullable=False),
)

# Each case of a source and its group of incidents. `over_at` is empty while it fires; with `delivery` it last began;
# `reopened_at` is when its source says that it was reopened last, empty if it never was.
CASES = Table(
    "cases",
    _METADATA,
    *_keys("source", "name"),
    *_texts("key", "group", "turn", "delivery", "opened_at", "over_at", "storm", "reopened_at"),
)
FIRES = ""  # the value of `over_at` while a case fires
