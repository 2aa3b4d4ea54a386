"""The heads that stand in Slack are read back, and show what the record alone cannot."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from bot.demo.slack.access import DEFAULT_SCOPES
from bot.demo.slack.people import BOT_USER
from bot.domain.entry import NOTHING_BEFORE, entry_hash
from tests.program import awaited
from tests.slack.acting_team import ALICE, BOB, ONCALL, acting_team
from tests.slack.drawn import record_line
from tests.slack.workspace import SlackWorkspace, workspace

READS = DEFAULT_SCOPES | {"channels:history"}
FIELDS = "stream, seq, at, by, kind, body"


async def verify(slack: SlackWorkspace, folder: Path, *more: str) -> tuple[int, str, str]:
    """Run the command as a person would; returns exit status, stdout and stderr."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "ZOMBIE_DATABASE_URL": f"sqlite:///{folder / 'zombie.db'}",
        **slack.environment,
    }
    done = await awaited("audit", "verify", *more, env=environ)
    return done.returncode, done.stdout, done.stderr


def house_rewritten(path: Path) -> None:
    """Forge an entry of the house; chain and triggers are right afterwards, and only Slack knows better."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as plain:
        triggers = plain.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            plain.execute(f"DROP TRIGGER {name}")
        before = NOTHING_BEFORE
        for row in plain.execute(f"SELECT {FIELDS} FROM entries WHERE stream = 'house' ORDER BY seq").fetchall():
            forged = (*row[:3], "terminal:mallory" if row[1] == 1 else row[3], *row[4:])
            before = entry_hash(before, *forged)
            change = 'UPDATE entries SET "by" = ?, hash = ? WHERE stream = ? AND seq = ?'
            plain.execute(change, (forged[3], before, "house", row[1]))
        for _, statement in triggers:
            plain.execute(statement)


async def test_heads_on_the_card_and_under_the_yes_are_compared_with_the_record(tmp_path: Path) -> None:
    async with workspace(scopes=READS) as slack, acting_team(slack, tmp_path) as team:
        await team.decides(BOB, await team.proposed("node-1"))
        card = await team.card("Resolved: node-1")
        await slack.until(lambda: slack.thread(card)[1:], what="the yes")
        await team.idle()
        # Anybody may write what looks like a head; only what the bot posted counts.
        slack.state.post(ONCALL, ALICE, "record", blocks=(record_line("1:" + "ab" * 16),))
        status, out, _ = await verify(slack, tmp_path, "--from-slack")
        assert (status, out.splitlines()[0]) == (0, "heads in Slack: 2 compared")
        house_rewritten(tmp_path / "zombie.db")
        status, out, _ = await verify(slack, tmp_path)
        assert (status, out.startswith("whole: ")) == (0, True), "nothing in the record itself tells of it"
        status, out, _ = await verify(slack, tmp_path, "--from-slack", "--channel", ONCALL)
        assert status == 1
        broken = [line for line in out.splitlines() if line.startswith("broken: house: entry ")]
        assert len(broken) == 2
        assert all(f"noted in Slack, channel {ONCALL}, message " in line for line in broken)


async def test_short_head_of_an_older_post_neither_fails_nor_passes(tmp_path: Path) -> None:
    async with workspace(scopes=READS) as slack, acting_team(slack, tmp_path) as team:
        await team.proposed("node-1")
        slack.state.post(ONCALL, BOT_USER, "record", blocks=(record_line("3f9a1c04b7de"),))
        status, out, err = await verify(slack, tmp_path, "--from-slack")
        assert (status, "broken" in out) == (2, False)
        assert "not compared: the head 3f9a1c04b7de has 12 digits, too few to prove anything" in out
        assert "not all of it was compared" in err


async def test_without_the_scope_it_says_which_line_to_add(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        await team.proposed("node-1")
        status, out, err = await verify(slack, tmp_path, "--from-slack")
        assert (status, out) == (2, "")
        assert "lacks channels:history" in err
        assert "“- channels:history” to oauth_config.scopes.bot" in err


async def test_nothing_to_compare_with_is_not_called_whole(tmp_path: Path) -> None:
    async with workspace(scopes=READS) as slack, acting_team(slack, tmp_path) as team:
        await team.proposed("node-1")
        status, out, err = await verify(slack, tmp_path, "--from-slack", "--channel", "C0GENERAL1")
        assert status == 2
        assert "heads in Slack: 0 compared" in out
        assert "not read in Slack: C0GENERAL1 (not_in_channel)" in out
        assert "not all of it was compared" in err
