"""A recording answers as its node did."""

from pathlib import Path

import pytest

from bot.domain.command import Command, Looks
from bot.domain.errors import MissingFile
from bot.domain.node import Node
from bot.transport.replay import ReplayTransport, dump
from tests.contract.ways import Way, local, octal, sh

# --- recordings


async def test_recording_answers_as_the_node_did(tmp_path: Path) -> None:
    commands = (
        Command("twice", ("cat", "/proc/uptime"), looks=Looks.TWICE),
        sh("odd", f"printf '{octal(bytes(range(256)))}'; echo err >&2; exit 3"),
        Command("cut", ("yes",), output_limit_bytes=100),
    )
    runs = await local().ask(*commands)
    recording = tmp_path / "node.jsonl"
    recording.write_text(dump(runs.values()), encoding="utf-8")
    again = Way(ReplayTransport(recording), Node("n", "a"), "")
    assert await again.ask(*commands) == runs
    assert set(await again.ask(commands[2], Command("never", ("x",)))) == {("cut", 0)}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[1]\n", '{"recording": 2}\n', '{"recording": 1}\n[1]\n', '{"recording": 1}\n{"took": null}\n',
     '{"recording": 1}\n{"probe": "p", "name": "n", "look": 0, "stdout": 5, "took": null}\n', "\x00", "{"],
)  # fmt: skip
async def test_what_is_no_recording_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    recording = tmp_path / "node.jsonl"
    recording.write_text(text)
    with pytest.raises(MissingFile, match=str(recording)):
        await Way(ReplayTransport(recording), Node("n", "a"), "").ask(Command("a", ("x",)))
