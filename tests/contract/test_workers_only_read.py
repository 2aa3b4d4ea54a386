"""A worker loads no part of the program that acts, and whoever acts loads nothing of workers."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bot.extras.fleet.worker import ReadOnlyTransport
from tests.contract.floors import MAY_USE

ROOT = Path(__file__).parents[2]
ACTS = (
    "bot.app.acting",
    "bot.app.service",
    "bot.engine",
    "bot.ledger",
    "bot.response.decision",
    "bot.response.execution.node_access",
    "bot.response.execution.remediation",
    "bot.response.execution.step_executor",
    "bot.response.execution.step_proof",
    "lightkube",
    "slack_bolt",
    "sqlalchemy",
)
LOADED = """
import json, sys
import bot.extras.fleet.worker, bot.extras.fleet.worker_command, bot.app.many_nodes, bot.inventory
import bot.extras.fleet.dask_worker, bot.transport.ssh
print(json.dumps(sorted(sys.modules)))
"""


def loaded(program: str) -> set[str]:
    done = subprocess.run([sys.executable, "-P", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_worker_loads_nothing_that_acts() -> None:
    pytest.importorskip("distributed")
    modules = loaded(LOADED)
    assert "distributed.worker" in modules
    assert [name for name in modules if name.startswith(ACTS)] == []


def test_way_of_a_worker_has_nothing_but_reading() -> None:
    assert {name for name in dir(ReadOnlyTransport) if not name.startswith("_")} == {"read", "way"}


def test_checks_and_sweeps_of_this_machine_load_no_dask() -> None:
    argv = "sys.argv = ['zombie', 'fleet', '*', '--inventory', '/nowhere']"
    program = f"import json, sys; {argv}\nfrom bot.__main__ import main\nmain()\nprint(json.dumps(sorted(sys.modules)))"
    modules = loaded(program + "\n")
    assert "bot.extras.fleet.runner" in modules or "bot.extras.fleet.command" in modules
    assert [name for name in modules if name.split(".")[0] in ("dask", "distributed")] == []


def test_only_sweeps_know_of_schedulers() -> None:
    """Deciding, executing and the engine name neither workers nor Dask, and no other file imports it."""
    assert MAY_USE["distributed"] == MAY_USE["dask"] == ["bot/extras/fleet/dask_*.py"]
    users = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "bot").rglob("*.py")
        if "bot.extras.fleet" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith(("bot.extras.fleet.worker", "bot.extras.fleet.dask"))
    }
    assert users == {
        f"bot/extras/fleet/{name}.py" for name in ("dask_reader", "dask_worker", "runner", "worker", "worker_command")
    }
