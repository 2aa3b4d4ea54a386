"""Every extra can be left out, one from a package takes part, and one that cannot be loaded takes nothing down."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder

from bot.app.bot import Bot
from bot.app.extras import shipped
from bot.domain.errors import SettingsError
from bot.seats import Extra
from tests import program

ROOT = Path(__file__).parents[2]
NAMES = tuple(extra.name for extra in shipped().on)
CORE = ("check", "serve", "incidents", "remediate", "watch", "undo", "brake", "audit", "replay", "doctor", "settings")

PAGE = (ROOT / "docs" / "extending.md").read_text()
BESIDE = "\n".join(
    f'{name} = "zombie_tides.{module}:EXTRA"'
    for name, module in (
        ("stranded", "stranded"),
        ("wrecks", "no_such_module"),
        ("leaves", "leaves"),
        ("renamed", "stranded"),
        ("misfits", "misfits"),
        ("robs", "robs"),
    )
)
OTHERS = {
    "leaves": "import sys\nsys.exit(0)\n",
    "misfits": 'from bot.seats import Extra\nEXTRA = Extra("misfits", "nothing", commands=None)\n',
    "robs": "from zombie_tides import TidesSettings\nfrom bot.seats import Extra\n"
    'EXTRA = Extra("robs", "nothing", settings={"policy": TidesSettings})\n',
}
STRANDED = """from bot.seats import Extra
from tests import program
EXTRA = Extra("stranded", "nothing", looks="zombie_tides.no_such_module:looks")
"""
# The page's extra, file by file.
TIDES = dict(
    re.findall(r"^`(pyproject\.toml|zombie_tides/\S+?)`[^\n]*:\n\n```\w+\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
)


def zombie(folder: Path, *words: str, beside: Path | None = None) -> subprocess.CompletedProcess[str]:
    found = os.pathsep.join(map(str, (ROOT, *filter(None, [beside]))))
    return program.zombie(*words, cwd=folder, env=program.environment(folder, PYTHONPATH=found))


def listed(text: str) -> set[str]:
    return {line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.split()}


@pytest.mark.parametrize("name", NAMES)
def test_program_runs_without_each_extra_in_turn(tmp_path: Path, name: str) -> None:
    extras = [extra for extra in shipped().on if name in (extra.name, *extra.needs)]  # what needs it goes with it
    (tmp_path / "zombie.toml").write_text(f'[extras]\noff = ["{name}"]\n')
    shown = zombie(tmp_path, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    gone = {words for extra in extras for words in extra.commands if " " not in words}
    assert set(CORE) <= listed(shown.stdout)
    assert not gone & listed(shown.stdout)
    for command in gone:
        assert zombie(tmp_path, command).returncode == 2
    settings = zombie(tmp_path, "settings")
    assert settings.returncode == 0, settings.stderr
    for table, of in [(table, extra.name) for extra in extras for table in extra.settings]:
        assert f"\n{table}_" not in settings.stdout
        assert f"\n{table}." not in settings.stdout
        (tmp_path / "other.toml").write_text(f'[{table}]\n[extras]\noff = ["{name}"]\n')
        refused = zombie(tmp_path, "settings", "--config", "other.toml")
        assert (refused.returncode, f"is a table of {of}, which is left out" in refused.stderr) == (2, True), refused
    (tmp_path / "known_hosts").touch()
    (tmp_path / "inventory.toml").write_text(
        '[ssh]\nknown_hosts = "known_hosts"\n[nodes.n1]\naddress = "127.0.0.1"\nport = 9\n'
    )
    checked = zombie(tmp_path, "check", "n1", "--samples", "1")
    assert (checked.returncode, checked.stderr, "UNREACHABLE" in checked.stdout) == (4, "", True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which a wheel with an extra, and with one that cannot be loaded, was installed."""
    source, folder = tmp_path_factory.mktemp("tides"), tmp_path_factory.mktemp("site")
    for path, text in TIDES.items():
        (source / path).parent.mkdir(exist_ok=True)
        (source / path).write_text(text)
    project = (source / "pyproject.toml").read_text()
    (source / "pyproject.toml").write_text(project.replace("\ntides = ", f"\n{BESIDE}\ntides = "))
    for name, text in {**OTHERS, "stranded": STRANDED}.items():
        (source / "zombie_tides" / f"{name}.py").write_text(text)
    (wheel,) = WheelBuilder(str(source)).build(directory=str(source / "dist"), versions=["standard"])
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)  # which is all that installing it does
    return folder


def test_extra_of_a_package_is_off_until_it_is_named(tmp_path: Path, site: Path) -> None:
    assert zombie(tmp_path, "tides", beside=site).returncode == 2
    (tmp_path / "zombie.toml").write_text('[extras]\non = ["tides"]\n[tides]\nat_most = 7\n')
    told = zombie(tmp_path, "tides", beside=site)
    assert (told.returncode, told.stdout, told.stderr) == (0, "at most 7\n", "")
    assert "tides" in listed(zombie(tmp_path, "--help", beside=site).stdout)
    wrong = zombie(tmp_path, "tides", "--config", "wrong.toml", beside=site)
    assert wrong.returncode == 2
    (tmp_path / "wrong.toml").write_text('[extras]\non = ["tides"]\n[tides]\nat_mots = 7\n')
    wrong = zombie(tmp_path, "tides", "--config", "wrong.toml", beside=site)
    assert (wrong.returncode, "at_most" in wrong.stderr, "wrong.toml:4" in wrong.stderr) == (2, True, True), wrong


@pytest.mark.parametrize("name", ["wrecks", "nobody", "leaves", "renamed", "misfits", "robs"])
def test_extra_that_cannot_be_loaded_is_named_and_left_out(tmp_path: Path, site: Path, name: str) -> None:
    (tmp_path / "zombie.toml").write_text(f'[extras]\non = ["{name}"]\n')
    told = zombie(tmp_path, "settings", beside=site)
    assert told.returncode == 0
    assert f"the extra {name} is left out" in told.stderr
    assert told.stdout


@pytest.mark.parametrize("text", ["[extras]\noff = [" + "[" * 5000, "\ufeff[extras]\noff = ['mcp']\n", "extras = 7"])
def test_odd_file_of_settings_stops_no_brake(tmp_path: Path, text: str) -> None:
    (tmp_path / "zombie.toml").write_text(text)
    pulled = zombie(tmp_path, "brake", "on", "--reason", "stop")
    assert pulled.returncode == 0, pulled.stderr


def test_pipe_is_left_to_the_settings_and_extras_in_it_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "zombie.toml")
    assert zombie(tmp_path, "--version").returncode == 0, "nobody waits for who might write into it"
    for toml, status in (("[policy]\napprovals = 2\n", 0), ('[extras]\noff = ["mcp"]\n', 2)):
        script = f"printf %s {shlex.quote(toml)} | {sys.executable} -P -m bot settings --config /dev/stdin"
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            ["sh", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == status, done.stderr
        assert ("policy.approvals = 2" in done.stdout, "was not heeded" in done.stderr) == (not status, bool(status))


def test_settings_are_found_as_the_settings_find_them(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('\ufeff[extras]\noff = ["mcp"]\n')
    for words in (("--config", "none.toml", "--config", "other.toml"), ("--config=~/other.toml",)):
        assert "mcp_token" not in zombie(tmp_path, "settings", *words).stdout, words
    (tmp_path / "other.toml").write_text('[extras]\noff = ["mpc"]\n')
    wrong = zombie(tmp_path, "settings", "--config", "other.toml")
    assert (wrong.returncode, "Did you mean" in wrong.stderr) == (2, True), wrong.stderr


def test_doctor_names_packages_that_would_enter_the_process(tmp_path: Path, site: Path) -> None:
    (tmp_path / "inventory.toml").write_text('[nodes.n1]\naddress = "127.0.0.1"\nport = 9\n')
    said = zombie(tmp_path, "doctor", beside=site).stdout
    assert "extra tides" in said, said
    assert '[extras] on = ["tides"]' in said


def test_doctor_looks_where_an_extra_says_and_names_one_that_cannot(tmp_path: Path, site: Path) -> None:
    (tmp_path / "inventory.toml").write_text('[nodes.n1]\naddress = "127.0.0.1"\nport = 9\n')
    (tmp_path / "zombie.toml").write_text('[extras]\non = ["tides", "stranded"]\n')
    told = zombie(tmp_path, "doctor", "--json", beside=site)
    found = {each["name"]: each for each in json.loads(told.stdout)["examined"]}
    assert found["tide gauge"]["seen"].startswith("n1 of 2")
    assert found["tide gauge"]["seen"].endswith("at most 3")
    assert (found["extra stranded"]["mark"], "cannot be loaded" in found["extra stranded"]["seen"]) == ("wrong", True)
    assert found["Prometheus"]["mark"] == "not set"


def seated(**seats: str) -> tuple[list[Any], list[object]]:
    lines: list[object] = []
    made: Any = Bot.__new__(Bot)
    made.json_log = SimpleNamespace(log=lambda event, **fields: lines.append(fields["extra"]))
    made.extras = [Extra(name, "nothing", serves=named) for name, named in seats.items()]
    return made.seated("serves"), lines


def test_part_that_cannot_be_loaded_is_logged_and_one_that_is_set_up_wrong_ends_the_start() -> None:
    found, lines = seated(none="", gone="bot.no_such_module:x", parts="builtins:id", unset="builtins:setattr_of_none")
    assert (len(found), lines) == (1, ["gone", "unset"])
    with pytest.raises(SettingsError):
        seated(wrong="tests.contract.test_extras:wrongly_set_up")


def wrongly_set_up(bot: object) -> None:
    raise SettingsError("It is no address.", "Write one.")
