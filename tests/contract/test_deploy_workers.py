"""The compose file of scheduler and workers is taken by the programs that it starts."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.__main__ import parser
from bot.app.extras import shipped
from bot.extras.fleet.dask_scheduler import SchedulerAddress
from bot.settings import all_keys

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "workers.yaml").read_text())
SCHEDULER, WORKER = COMPOSE["services"]["scheduler"], COMPOSE["services"]["worker"]


def test_worker_is_started_by_words_and_settings_that_exist(tmp_path: Path) -> None:
    told = parser().parse_args(WORKER["command"])
    known = {key.environment for table in all_keys(shipped().settings).values() for key in table.values()}
    assert known.issuperset(WORKER["environment"])
    files = [tmp_path / Path(path).name for path in WORKER["environment"].values()]
    for file in files:
        file.write_text("PEM")
    assert SchedulerAddress.of(told.scheduler, *files).is_tls


def test_scheduler_is_started_by_options_that_dask_has() -> None:
    pytest.importorskip("distributed")
    program, *words = SCHEDULER["entrypoint"]
    assert (program, words[0]) == ("dask", "scheduler")
    argv = [sys.executable, "-m", *SCHEDULER["entrypoint"][:2], "--help"]
    help_text = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True).stdout
    options = [word.partition("=")[0] for word in (*words[1:], *SCHEDULER["command"]) if word.startswith("--")]
    assert [option for option in options if not re.search(rf"{option}\b", help_text)] == []


def test_every_certificate_is_handed_over_where_it_is_read() -> None:
    for service, read in ((SCHEDULER, SCHEDULER["command"]), (WORKER, WORKER["environment"].values())):
        assert sorted(service["secrets"]) == sorted(str(text).rpartition("/")[2] for text in read)
    assert set(COMPOSE["secrets"]) == {*SCHEDULER["secrets"], *WORKER["secrets"]}
    assert {service["read_only"] for service in (SCHEDULER, WORKER)} == {True}
