"""Imports flow down, and packages have named importers."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.floors import violations

ROOT = Path(__file__).parents[2]
STARTED = ("check", "factories", "shards", "machines", "extras")
PROGRAM = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "bot").rglob("*.py"))


def test_every_file_stands_on_its_floor() -> None:
    assert "\n".join(str(each) for path in PROGRAM for each in violations(path, (ROOT / path).read_text())) == ""


@pytest.mark.parametrize(
    ("path", "source", "says"),
    [
        ("bot/domain/x.py", "from bot.probes import cpu", "domain must not import probes"),
        ("bot/domain/x.py", "import yaml", "domain holds to the standard library"),
        ("bot/domain/x.py", "import subprocess", "domain touches nothing, and subprocess does"),
        ("bot/probes/x.py", "from bot.causes.steal import evaluate", "probes must not import causes"),
        ("bot/probes/x.py", "from ..causes import steal", "probes must not import causes"),
        ("bot/probes/x.py", "from .. import causes", "probes must not import causes"),
        ("bot/probes/x.py", "from bot import causes as c", "probes must not import causes"),
        ("bot/causes/x.py", "from bot.actions.reboot import ACTION", "causes must not import actions"),
        ("bot/probes/x.py", "import bot.app", "probes must not import app"),
        ("bot/probes/x.py", "def f():\n    import bot.transport.ssh", "probes must not import transport"),
        ("bot/probes/x.py", "if TYPE_CHECKING:\n    from bot.ledger import L", "probes must not import ledger"),
        ("bot/probes/x.py", "importlib.import_module('bot.engine')", "probes must not import engine"),
        ("bot/response/x.py", "from bot.engine import run", "response must not import engine"),
        ("bot/surfaces/x.py", "from bot.demo import nodes", "surfaces must not import demo"),
        ("bot/library.py", "from bot.inventory import find", "library must not import inventory"),
        ("bot/library_models.py", "import bot.settings", "library must not import settings"),
        ("bot/app.py", "from bot.__main__ import main", "app must not import __main__"),
        ("bot/transport/local.py", "import asyncssh", "asyncssh is for bot/transport/ssh"),
        (
            "bot/surfaces/verdict_text.py",
            "from slack_bolt.async_app import AsyncApp",
            "slack_bolt is for bot/surfaces/slack",
        ),
        ("bot/app.py", "import requests", "no importer is named for requests"),
        ("bot/app/x.py", "from bot.extras import EXTRAS", "app must not import extras"),
        ("bot/surfaces/x.py", "import bot.extras.mcp.tools", "surfaces must not import extras"),
        ("bot/extras/mcp/x.py", "from bot.extras.waves import wave", "mcp must not import waves"),
        ("bot/extras/cases/x.py", "from bot.extras.reports.page import page", "cases must not import reports"),
        ("bot/seats.py", "from bot.surfaces.web import Handler", "seats must not import surfaces"),
        ("bot/cellar/x.py", "", "no floor is known for cellar"),
        ("bot/probes/utils.py", "", "utils says nothing"),
        ("bot/transport/x.py", "import os\nos.environ['HOME']", "the environment is read in"),
        ("bot/transport/x.py", "from os import getenv as g", "the environment is read in"),
        ("bot/response/x.py", "import datetime as d\nd.datetime.now(d.UTC)", "the clock is read in"),
        ("bot/response/x.py", "from datetime import datetime\nclock = datetime.now", "the clock is read in"),
        ("bot/demo/x.py", "import secrets", "randomness is drawn in"),
        ("bot/demo/x.py", "from random import choice", "randomness is drawn in"),
    ],
)
def test_line_on_the_wrong_floor_is_caught(path: str, source: str, says: str) -> None:
    found = [str(violation) for violation in violations(path, source)]
    last_line = 1 + source.count("\n")
    assert any(line.startswith(f"{path}:{last_line}: ") and says in line for line in found), found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("bot/__init__.py", '"""A bot."""'),
        ("bot/domain/x.py", "from bot.domain.node import Node\nfrom .alert import Alert\nimport dataclasses"),
        (
            "bot/probes/x.py",
            "from bot.domain import probe\nfrom datetime import datetime",
        ),
        ("bot/library_models.py", "import yaml, re2\nfrom bot.library import x\nfrom pydantic import BaseModel"),
        ("bot/transport/ssh_session.py", "import asyncssh, asyncio, time\nstart = time.monotonic()"),
        ("bot/surfaces/web.py", "from aiohttp import web\nfrom bot.sources.pagerduty import read"),
        ("bot/app.py", "import os, time\nfrom bot.engine import E\nos.environ\ntime.time()"),
        ("bot/__main__.py", "from bot import app"),
        ("bot/app/extras.py", "from bot.extras import EXTRAS\nfrom bot.seats import Extra"),
        ("bot/extras/mcp/x.py", "from bot.extras.mcp.tools import Tool\nfrom bot.app.bot import Bot"),
        ("bot/extras/reports/x.py", "from bot.extras.cases.what_if import Why"),
    ],
)
def test_line_on_its_own_floor_passes(path: str, source: str) -> None:
    assert list(violations(path, source)) == []


def test_starting_loads_nothing_a_check_does_not_need() -> None:
    modules = ", ".join(f"bot.{name}" for name in ("__main__", *(f"app.{name}" for name in STARTED)))
    heavy = (
        "{'slack_bolt', 'slack_sdk', 'aiohttp', 'httpx', 'dbos', 'sqlalchemy', 'pytest', 'prometheus_client', 'PIL', "
        "'bot.domain.events', 'bot.domain.house_events', 'bot.domain.entry', 'bot.domain.incident'}"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys, {modules}; print(*sorted({heavy} & sys.modules.keys()))"],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == []
