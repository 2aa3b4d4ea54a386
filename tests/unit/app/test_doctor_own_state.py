"""What `doctor` says of the playbooks that somebody wrote."""

from __future__ import annotations

from pathlib import Path

from bot.app.doctor.own_state import playbooks
from bot.domain.doctor_finding import Mark
from bot.settings import Settings

GOOD = "name: mine\ntitle: Mine\nversion: 1\nextends: zombie-cgroups\n"
BROKEN = "name: node-health\ntitle: Mine\nversion: 1\nprobes: [hst]\n"


async def test_without_own_playbooks_nothing_is_said() -> None:
    assert await playbooks(Settings()) == ()


async def test_own_playbooks_that_can_be_used_are_well(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    (found,) = await playbooks(Settings(playbooks=(tmp_path,)))
    assert found.mark is Mark.OK


async def test_one_that_cannot_be_used_is_wrong_and_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    (tmp_path / "whole.yaml").write_text(BROKEN)
    found = {examined.mark: examined for examined in await playbooks(Settings(playbooks=(tmp_path,)))}
    assert set(found) == {Mark.WRONG}
    assert "whole.yaml:4: unknown probe" in found[Mark.WRONG].seen
    assert "node-health" in found[Mark.WRONG].to_do


async def test_cause_that_is_left_out_is_wrong_and_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "causes").mkdir()
    (tmp_path / "causes" / "worn.yaml").write_text("cause: worn\ntitle: Worn\nabot: It is worn.\n")
    (found,) = await playbooks(Settings(playbooks=(tmp_path,)))
    assert found.mark is Mark.WRONG
    assert 'causes/worn.yaml:1: the cause lacks "about"' in found.seen
    assert "undecided on every node" in found.to_do
