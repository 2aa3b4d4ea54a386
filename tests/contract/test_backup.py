"""The commands of docs/serving.md keep a record and bring it back, while a bot has it open."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.domain.events import AlertReceived, Cancelled
from bot.ledger import Database, Ledger
from tests.conftest import missing
from tests.record.incidents import ALERT, ASKER

PAGE = (Path(__file__).parents[2] / "docs/serving.md").read_text()
BACKUP, RESTORE = (
    re.findall(r"```sh\n(.*?)```", PAGE.partition(f"\n{start}")[2].partition("\n## ")[0], re.DOTALL)[number]
    for start, number in (("## Backup", 0), ("## Backup", 1))
)


def typed(commands: str, url: str, folder: Path) -> None:
    """Run those lines that are for this kind of database, in a folder of the test's own."""
    sqlite = url.startswith("sqlite")
    lines = [line for line in commands.splitlines() if ("zombie.db" in line) is sqlite]
    assert lines
    for line in lines:
        program = line.split()[0]
        if shutil.which(program) is None:
            missing(f"{program} is not installed (Debian: apt install sqlite3 postgresql-client)")
        here = line.replace("/var/lib/zombie/", f"{folder}/").replace("/root/", f"{folder}/")
        environment = {**os.environ, "ZOMBIE_DATABASE_URL": url}
        done = subprocess.run(
            ["sh", "-c", here], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr


def incident(url: str, name: str) -> None:
    with Database.open(url) as database:
        ledger = Ledger(database)
        ledger.append.now(name, 0, AlertReceived(ALERT, "node-1", name), ASKER)
        ledger.append.now(name, 1, Cancelled("asked twice"), "bot")


def known(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ZOMBIE_DATABASE_URL", url)
    assert main(["audit", "verify"]) == 0, capsys.readouterr()
    capsys.readouterr()
    assert main(["incidents"]) == 0
    return capsys.readouterr().out


def test_record_is_kept_and_brought_back(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    incident(database_url, "i-before")
    with Database.open(database_url):  # a bot that runs
        typed(BACKUP, database_url, tmp_path)
    before = known(database_url, capsys, monkeypatch)
    incident(database_url, "i-after")
    assert "i-after" in known(database_url, capsys, monkeypatch)
    typed(RESTORE, database_url, tmp_path)
    assert known(database_url, capsys, monkeypatch) == before
    assert "i-before" in before
