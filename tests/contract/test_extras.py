"""Every extra can be left out, one from a package takes part, and one that cannot be loaded takes nothing down."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from bot.app.extras import shipped

ROOT = Path(__file__).parents[2]
NAMES = tuple(extra.name for extra in shipped().on)
CORE = ("check", "serve", "incidents", "remediate", "watch", "undo", "brake", "audit", "replay", "doctor", "settings")

_PROJECT = """
[project]
name = "zombie-tides"
version = "1"
[project.entry-points."zombie.extras"]
tides = "zombie_tides:EXTRA"
wrecks = "zombie_tides.no_such_module:EXTRA"
[tool.hatch.build.targets.wheel]
packages = ["zombie_tides"]
"""
_DOOR = """
from dataclasses import dataclass

from bot.domain.setting import count, option
from bot.seats import Extra


@dataclass(frozen=True, slots=True)
class TidesSettings:
    at_most: int = option(count(1, 9), 3)


EXTRA = Extra("tides", "tides", commands={"tides": "zombie_tides.command"}, settings={"tides": TidesSettings})
"""
_COMMAND = """
from bot.commands import options
from zombie_tides import TidesSettings


def add(commands):
    parser = options.add_parser(commands, "tides", "say how high it is", "Say how high it is.", "")
    options.add_places(parser)
    parser.set_defaults(run=run)


def run(arguments):
    print("at most", options.settings(arguments).of(TidesSettings).at_most)
    return 0
"""


def zombie(folder: Path, *words: str, beside: Path | None = None) -> subprocess.CompletedProcess[str]:
    found = os.pathsep.join(str(path) for path in (ROOT, beside) if path is not None)
    return subprocess.run(
        [sys.executable, "-P", "-m", "bot", *words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": found, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def listed(text: str) -> set[str]:
    return {line.split()[0] for line in text.splitlines() if line.startswith("    ") and line.split()}


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
    checked = zombie(tmp_path, "check", "--local", "--samples", "1")
    assert checked.returncode in (0, 1, 3), checked.stderr
    assert checked.stderr == ""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which a wheel with an extra, and with one that cannot be loaded, was installed."""
    source, folder = tmp_path_factory.mktemp("tides"), tmp_path_factory.mktemp("site")
    (source / "pyproject.toml").write_text(_PROJECT)
    (source / "zombie_tides").mkdir()
    (source / "zombie_tides" / "__init__.py").write_text(_DOOR)
    (source / "zombie_tides" / "command.py").write_text(_COMMAND)
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


@pytest.mark.parametrize("name", ["wrecks", "nobody"])
def test_extra_that_cannot_be_loaded_is_named_and_left_out(tmp_path: Path, site: Path, name: str) -> None:
    (tmp_path / "zombie.toml").write_text(f'[extras]\non = ["{name}"]\n')
    checked = zombie(tmp_path, "check", "--local", "--samples", "1", beside=site)
    assert checked.returncode in (0, 1, 3)
    assert f"the extra {name} is left out" in checked.stderr
    assert checked.stdout


def test_doctor_names_packages_that_would_enter_the_process(tmp_path: Path, site: Path) -> None:
    (tmp_path / "inventory.toml").write_text('[nodes.n1]\naddress = "127.0.0.1"\nport = 9\n')
    said = zombie(tmp_path, "doctor", beside=site).stdout
    assert "extra tides" in said, said
    assert '[extras] on = ["tides"]' in said


def test_check_loads_no_extra() -> None:
    """Beside their doors, and the settings that these show."""
    script = (
        "import sys; from bot.__main__ import main\n"
        "main(['check', '--local', '--samples', '1'])\n"
        "print(*sorted(name for name in sys.modules if name.startswith('bot.extras.')), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    loaded = {name.removeprefix("bot.extras.") for name in done.stderr.split() if name.startswith("bot.extras.")}
    assert loaded <= {each for name in NAMES for each in (name, f"{name}.settings")}, loaded
