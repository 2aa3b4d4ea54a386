"""A stranger's look at a bundle: another checkout, another folder, no database; the verdict comes out the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.app.version import version
from bot.domain.fold import fold
from bot.ledger import Ledger
from tests.record.exporting import ended
from tests.record.ledgers import ledger_in

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys, bot
from bot.__main__ import main
print(bot.__file__)
*whole, last = sys.argv[1:]
sys.exit(any(main(["verify", name]) for name in whole) * 9 or main(["verify", last]))
"""


def test_bundle_is_verified_in_another_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, elsewhere = tmp_path / "state", tmp_path / "another place" / "checkout"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZOMBIE_STATE_DIR", str(state))
    monkeypatch.delenv("ZOMBIE_DATABASE_URL", raising=False)
    main(["check", "--local", "--samples", "1", "--open", "--json"])
    with ledger_in(state) as database:
        (incident,) = Ledger(database).incidents.now()
        acted = ended(database)
        verdict = fold(Ledger(database).read.now(acted)).verdict
    assert verdict is not None
    assert verdict.plan is not None
    for name, exported_as in ((incident.id, "incident.jsonl"), (acted, "acted.jsonl")):
        assert main(["incidents", "export", name, "-o", exported_as]) == 0
    for folder in ("bot", "playbooks"):
        shutil.copytree(ROOT / folder, elsewhere / folder)
    (elsewhere / "bot/app/_version.py").write_text(f'version = "{version()}"\n')  # as a build of it says
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "PYTHONPATH": str(elsewhere)}

    def stranger(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=elsewhere,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    raw = (tmp_path / "acted.jsonl").read_bytes()
    middle = raw.index(b'{"entry"', 10) + 40
    (tmp_path / "flipped.jsonl").write_bytes(raw[:middle] + bytes([raw[middle] ^ 1]) + raw[middle + 1 :])
    files = [str(tmp_path / f"{name}.jsonl") for name in ("incident", "acted", "flipped")]
    status, said = stranger("-c", PROGRAM, *files)
    wholes = [line for line in said.splitlines() if line.startswith("whole: ")]
    assert (status, wholes) == (1, [f"whole: incident {each}" for each in (incident.id, acted)]), said
    assert said.startswith(f"{elsewhere / 'bot' / '__init__.py'}\n")
    assert said.count("the verdict, derived again from what the node said") == 2
    same = f"{verdict.status.value}, {verdict.cause} ({verdict.confidence}), plan {verdict.plan.digest[:16]}…"
    assert f"the verdict, derived again from what the node said: {same}\n" in said
    assert f"entry {acted}/1 (line 2)" in said
