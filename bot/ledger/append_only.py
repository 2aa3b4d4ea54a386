"""Triggers that stop accidental changes and deletions of entries; the chain reveals deliberate ones.

SQLite keeps a trigger's text: https://sqlite.org/schematab.html. PostgreSQL keeps when it fires and its function:
https://www.postgresql.org/docs/15/catalog-pg-trigger.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlalchemy import Connection

_SQLITE = {
    "entries_stay_as_they_are": """CREATE TRIGGER entries_stay_as_they_are BEFORE UPDATE ON entries
            BEGIN SELECT RAISE(ABORT, 'entries are only ever appended'); END""",
    "entries_stay": """CREATE TRIGGER entries_stay BEFORE DELETE ON entries
            BEGIN SELECT RAISE(ABORT, 'entries are only ever appended'); END""",
}
_BODY = "BEGIN RAISE EXCEPTION 'entries are only ever appended'; END"
_QUOTED = _BODY.replace("'", "''")
_POSTGRESQL = {
    "the function": f"""CREATE FUNCTION zombie_entries_are_appended() RETURNS trigger LANGUAGE plpgsql AS
            '{_QUOTED}'""",
    "entries_stay": """CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
            FOR EACH STATEMENT EXECUTE FUNCTION zombie_entries_are_appended()""",
}
TRIGGERS: tuple[Mapping[str, str], ...] = tuple(
    {"sqlite": lite, "postgresql": postgres}
    for lite, postgres in zip(_SQLITE.values(), _POSTGRESQL.values(), strict=True)
)
"""The statements of the migration, in order, by dialect."""

# SQLite keeps a table's name as it was typed, and takes ENTRIES for the same.
_KEPT_BY_SQLITE = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND lower(tbl_name) = 'entries'"
# 58: before a statement that updates (16), deletes (8) or truncates (32). O and A: it is not switched off.
_WORKS_IN_POSTGRESQL = """
    SELECT p.prosrc FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
    WHERE t.tgrelid = 'entries'::regclass AND t.tgname = 'entries_stay' AND t.tgtype = 58
        AND t.tgenabled IN ('O', 'A') AND t.tgqual IS NULL AND t.tgattr::text = ''"""


def troubled_triggers(connection: Connection) -> Iterator[str]:
    """Yield the name of each trigger that is missing, disabled or altered."""
    if connection.dialect.name == "sqlite":
        kept = {row.name: row.sql for row in connection.exec_driver_sql(_KEPT_BY_SQLITE)}
        yield from (name for name, text in _SQLITE.items() if _plain(kept.get(name)) != _plain(text))
    else:
        body = connection.exec_driver_sql(_WORKS_IN_POSTGRESQL).scalar_one_or_none()
        if _plain(body) != _plain(_BODY):
            yield "entries_stay"


# A trigger or a rule may change or drop what is written, a policy hide it, and nobody who writes would notice.
_OTHERS = {
    "sqlite": f"SELECT name FROM ({_KEPT_BY_SQLITE}) WHERE name NOT IN ({', '.join(map(repr, _SQLITE))}) ORDER BY name",
    "postgresql": """
        SELECT tgname FROM pg_trigger
        WHERE tgrelid = 'entries'::regclass AND NOT tgisinternal AND tgname <> 'entries_stay'
        UNION SELECT rulename FROM pg_rewrite WHERE ev_class = 'entries'::regclass
        UNION SELECT polname FROM pg_policy WHERE polrelid = 'entries'::regclass ORDER BY 1""",
}


def foreign_triggers(connection: Connection) -> tuple[str, ...]:
    """Return the names of triggers, rules and policies on the entries that no migration made."""
    return tuple(map(str, connection.exec_driver_sql(_OTHERS[connection.dialect.name]).scalars()))


def _plain(text: object) -> str:
    return " ".join(str(text).split())
