"""The demo in the terminal: what it shows, which commands it takes, and that it cleans up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.demo.fleet import healthy_nodes
from bot.demo.session import DemoTools, run_demo
from bot.domain.verdict import Status, Verdict
from tests.known import known

MEMBERS = healthy_nodes(3)
NAMES = [member.name for member in MEMBERS]


@dataclass
class Person:
    """Types the lines, then ends the input, or does whatever `leaves` does; remembers what was shown."""

    lines: list[str]
    leaves: type[BaseException] = EOFError
    shown: str = ""
    checked: list[list[str]] = field(default_factory=list)
    folder: Path | None = None
    check_breaks: Callable[[], None] | None = None

    async def check(self, inventory: Path, names: Sequence[str]) -> Sequence[Verdict]:
        self.folder = inventory.parent
        assert inventory.is_file()  # noqa: ASYNC240 - nothing else waits for this loop
        self.checked.append(list(names))
        if self.check_breaks:
            self.check_breaks()
        return [Verdict(name, Status.HEALTHY, None, None, "Healthy") for name in names or NAMES]

    def read_line(self, prompt: str) -> str:
        if not self.lines:
            raise self.leaves
        return self.lines.pop(0)

    def write(self, text: str) -> None:
        self.shown += text

    def watches(self) -> int:
        def full_text(verdict: Verdict) -> str:
            return f"<whole {verdict.node}>\n"

        def document(verdicts: Sequence[Verdict]) -> str:
            return f"<json {' '.join(verdict.node for verdict in verdicts)}>"

        tools = DemoTools(self.check, full_text, document, lambda: datetime.now(UTC), self.write, self.read_line)
        return run_demo(tools, MEMBERS)

    def sees_after_the_opening(self) -> str:
        assert self.watches() == 0
        return self.shown.partition("cat /proc/cgroups\n")[2]


def test_opens_with_all_nodes_then_the_first_in_full_then_what_to_try() -> None:
    person = Person([])
    assert person.watches() == 0
    assert person.checked == [[]]
    order = [person.shown.index(text) for text in ("3 simulated nodes", "<whole node-001>", "Try:", "another terminal")]
    assert order == sorted(order)


def test_hints_for_another_terminal_name_the_running_fleets_files() -> None:
    person = Person([])
    person.watches()
    assert f"  zombie check node-001 --inventory {person.folder}/inventory.toml" in person.shown
    assert f"-i {person.folder}/demo_key -o UserKnownHostsFile={person.folder}/known_hosts -p " in person.shown


def test_show_and_json_tell_what_was_seen_without_looking_again() -> None:
    person = Person(["show node-002", "json node-001 node-003"])
    told = person.sees_after_the_opening()
    assert "<whole node-002>" in told
    assert "<json node-001 node-003>" in told
    assert person.checked == [[]]


def test_check_looks_again() -> None:
    person = Person(["check node-003", "check", "zombie check node-001 node-002"])
    person.watches()
    assert person.checked == [[], ["node-003"], [], ["node-001", "node-002"]]


def test_unknown_words_and_nodes_are_answered_with_the_nearest() -> None:
    told = Person(["chek node-001", "show node-01", "show", "", "frobnicate; rm -rf /"]).sees_after_the_opening()
    assert "Did you mean check?" in told
    assert "Did you mean node-001" in told
    assert "Which node?" in told
    assert "There is no command 'frobnicate;' here." in told


def test_nodes_and_help_list_what_there_is() -> None:
    told = Person(["nodes", "help"]).sees_after_the_opening()
    assert all(f"{name}  a quiet worker" in told for name in NAMES)
    assert all(f"\n  {word}" in told for word in ("check", "show", "json", "nodes", "help", "quit"))


def test_quit_end_of_input_and_interrupt_end_well_and_leave_nothing() -> None:
    for person in (Person(["quit", "show node-001"]), Person([]), Person([], leaves=KeyboardInterrupt)):
        assert person.watches() == 0
        assert not known(person.folder).exists()
        assert person.lines in ([], ["show node-001"])


def test_a_check_that_breaks_still_leaves_nothing() -> None:
    def breaks() -> None:
        raise RuntimeError("broken")

    person = Person([], check_breaks=breaks)
    with pytest.raises(RuntimeError):
        person.watches()
    assert not known(person.folder).exists()
