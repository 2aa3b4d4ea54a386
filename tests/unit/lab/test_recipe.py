"""The recipe's digest is the image's name: another image, another name."""

from dataclasses import replace

import pytest

from bot.app.lab import recipe
from bot.lab.recipe import Recipe


@pytest.mark.parametrize(
    "changed",
    [
        {"suite": "trixie"},
        {"packages": ("systemd",)},
        {"sudoers": "zombie ALL=(root) NOPASSWD: /usr/bin/timeout -k 1 8 dmesg\n"},
        {"setup": "true\n"},
        {"size_mib": 4000},
        {"files": (("etc/motd", "hello"),)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_whatever_changes_the_image_changes_its_name(changed: dict[str, object]) -> None:
    first = Recipe.of("")
    assert replace(first, **changed).digest != first.digest  # type: ignore[arg-type]


def test_image_gives_the_bots_login_the_rights_that_reading_needs() -> None:
    lines = recipe("bookworm").sudoers.splitlines()
    assert any(
        line.startswith("zombie ALL=(root) NOPASSWD: /usr/bin/timeout -k 1 8 /usr/bin/journalctl -k") for line in lines
    )
