"""What is no Python names modules, files and words of this project that are there: nothing else notices a rename."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# CHANGELOG.md is not among them: it tells what once was.
PATTERNS = (
    *("*.md", "*.toml", "*.yml", "Dockerfile", ".dockerignore", "zombie", ".ci/*", ".pre-commit-config.yaml"),
    *(".github/**/*.yml", "deploy/*", "docs/*.*[!g]", "playbooks/*.yaml", "tests/**/*.toml"),
    *("bot/**/*.sh", "bot/**/*.pl", "bot/**/*.html", "bot/**/*.json"),
)
FILES = sorted(
    path
    for pattern in PATTERNS
    for path in ROOT.glob(pattern)
    if path.is_file() and path.name != "CHANGELOG.md" and "captures" not in path.parts
)
_MODULE = re.compile(r"\b(?:bot|tests)\.[a-z_]+(?:\.\w+)*")
_PATH = re.compile(r"(?<![\w./-])(?:bot|tests|deploy|docs|playbooks)/[\w./*-]+")
_LOCK = re.compile(r"\brequirements[\w-]*\.lock\b")
# Made by whoever deploys or reads along, or by the wheel; those of docs/extending.md by test_extending.py.
_ELSEWHERE = (
    *("deploy/inventory", "deploy/secrets", "playbooks/tmp-space.yaml", "bot/_playbooks", "bot/_deploy"),
    "bot/app/_version",
    *("bot/probes/entropy", "playbooks/causes/entropy-starved", "bot/sources/klaxon"),
)


def modules_lacking(text: str) -> Iterator[str]:
    """Return each dotted name whose module, or whose name in it, is not there."""
    for name in set(_MODULE.findall(text)):
        parts, folder = name.split("."), ROOT
        while parts and (folder / parts[0]).is_dir():
            folder /= parts.pop(0)
        file = folder / f"{parts[0]}.py" if parts else folder / "__init__.py"
        inside = parts[1:] if parts and file.is_file() else parts
        file = file if file.is_file() else folder / "__init__.py"
        if name.replace(".", "/").startswith(_ELSEWHERE):
            continue
        if inside and not re.search(rf"\b{inside[0]}\b", file.read_text() if file.is_file() else ""):
            yield name


def paths_lacking(text: str) -> Iterator[str]:
    """Return each path of a file or a folder that is not there; `NAME`, `ROOM` and `*` stand for any."""
    for found in {found.rstrip("./-") for found in (*_PATH.findall(text), *_LOCK.findall(text))}:
        if not found.startswith(_ELSEWHERE) and not any(ROOT.glob(re.sub("NAME|ROOM", "*", found))):
            yield found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_module_or_file_that_is_named_is_there(path: Path) -> None:
    text = path.read_text()
    assert [*modules_lacking(text), *paths_lacking(text)] == []


def test_what_was_renamed_would_be_found() -> None:
    assert list(modules_lacking("from bot.settings.listen import host_and_port")) == ["bot.settings.listen"]
    assert list(modules_lacking("bot.domain.listen_address.host_and_port and bot.__main__:main, bot.commands")) == []
    assert list(modules_lacking("bot.domain.listen_address.host_or_port")) == ["bot.domain.listen_address.host_or_port"]
    assert list(paths_lacking("see `bot/gone.py`, docs/slack.md and bot/probes/NAME.py")) == ["bot/gone.py"]
    assert list(paths_lacking("pip install -r requirements-none.lock")) == ["requirements-none.lock"]
