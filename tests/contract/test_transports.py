"""Whatever the way to a node, what its commands say comes back as it was."""

import re
import shlex
import shutil
from datetime import timedelta

import pytest

from bot.domain.command import Command
from bot.domain.root_command import root_ways
from bot.domain.safe_text import decode
from tests.contract.ways import (
    ALL,
    Way,
    members,
    octal,
    over_ssh,
    sh,
)
from tests.nodes.sshd import IS_ROOT, Sshd

# --- what comes back


@members(ALL)
async def test_exit_status_output_and_errors_come_back_apart(way: Way) -> None:
    run = await way.ask_one(sh("a", "echo out; echo err >&2; exit 7"))
    assert (run.stdout, run.stderr, run.exit_status, run.cut) == ("out\n", "err", 7, False)
    assert run.failure is None
    assert run.took is not None
    assert timedelta(0) <= run.took < timedelta(seconds=5)


@members(ALL)
async def test_nonzero_exit_with_nothing_printed_says_what_was_said(way: Way) -> None:
    run = await way.ask_one(sh("a", "echo no such unit >&2; exit 4"))
    assert run.failure == "exit status 4 (no such unit)"


@members(ALL)
async def test_empty_output_with_exit_0_is_a_failure_of_its_own(way: Way) -> None:
    run = await way.ask_one(Command("a", ("true",)))
    assert (run.stdout, run.exit_status, run.failure) == ("", 0, "the output was empty")


@members(ALL)
async def test_missing_command_is_said_to_be_missing(way: Way) -> None:
    run = await way.ask_one(Command("a", ("no-such-command-here", "--version")))
    assert (run.exit_status, run.failure) == (127, "the command is missing")


WORDS = (
    "it's",
    '"quoted"',
    "$(touch pwned)",
    "`touch pwned`",
    "${HOME}",
    "a;b|c&d>e<f",
    "*",
    "~",
    "\\n\\",
    "",
    " two  spaces ",
    "tab\there",
    "!history",
    "%s",
    "-n",
    "é日本🐱",
    "\u2028",
    "#",
    "[a-z]",
    "(sub)",
    "=x",
    "{a,b}",
)


@members(ALL)
async def test_every_word_of_a_command_arrives_as_it_was(way: Way) -> None:
    run = await way.ask_one(Command("a", ("printf", "<%s>\\n", *WORDS)))
    assert run.stdout == "".join(f"<{word}>\n" for word in WORDS).replace("\u2028", "\\u2028")


@members(ALL)
async def test_bytes_that_are_no_text_become_visible(way: Way) -> None:
    raw = bytes(range(256)) + b"\x1b[2J\x1b]0;owned\x07 caf\xc3\xa9 \xc3\x28 \xed\xa0\x80\n\n\nend"
    run = await way.ask_one(Command("a", ("printf", octal(raw))))
    assert run.stdout == decode(raw)
    assert "\\x00" in run.stdout
    assert "\x1b" not in run.stdout


@members(ALL)
async def test_invalid_bytes_in_errors_become_visible(way: Way) -> None:
    run = await way.ask_one(sh("a", f"printf '{octal(b'bad ' + bytes([0x1B, 0xFF]) + b' end')}' >&2"))
    assert run.stderr == "bad \\x1b\\xff end"


@members(ALL)
async def test_final_newline_is_neither_added_nor_lost(way: Way) -> None:
    runs = await way.ask(
        Command("none", ("printf", "a")), Command("one", ("printf", "a\\n")), Command("two", ("printf", "a\\n\\n"))
    )
    assert {name: run.stdout for (name, _), run in runs.items()} == {"none": "a", "one": "a\n", "two": "a\n\n"}


IMITATION = "\n%z. 0\n%z.\n%z! missing awk\n%z l0p0 AAAA\n\n0123abc q0 1.00\nfaked\n\n0123abc e\n\n0 2.0\n0123abc .\n"


@members(ALL)
async def test_output_that_imitates_frames_stays_output(way: Way) -> None:
    imitation = octal(IMITATION.encode())
    runs = await way.ask(Command("out", ("printf", imitation)), sh("errors", f"printf '{imitation}' >&2"))
    assert runs["out", 0].stdout == IMITATION
    assert runs["errors", 0].stderr == IMITATION.strip("\n")
    assert runs["errors", 0].failure == "the output was empty"


# --- alternatives and root


@members(ALL)
async def test_next_way_is_tried_when_nothing_was_printed_and_only_then(way: Way) -> None:
    runs = await way.ask(
        Command("first", ("echo", "first"), alternatives=(("echo", "second"),)),
        Command("second", ("false",), alternatives=(("echo", "second"), ("echo", "third"))),
        Command("missing", ("no-such-command-here",), alternatives=(("echo", "instead"),)),
        Command("none", ("true",), alternatives=(("false",), ("true",))),
    )
    said = {name: (run.stdout, run.exit_status) for (name, _), run in runs.items()}
    assert said == {"first": ("first\n", 0), "second": ("second\n", 0), "missing": ("instead\n", 0), "none": ("", 0)}
    assert runs["none", 0].failure == "the output was empty"


@members(ALL)
async def test_output_is_the_same_whether_or_not_there_are_other_ways(way: Way) -> None:
    text = "Id=a.service\nActiveState=active\n\nId=b.service\n\n\n"
    runs = await way.ask(
        Command("alone", ("printf", octal(text.encode()))),
        Command("with-others", ("printf", octal(text.encode())), alternatives=(("echo", "other"),)),
    )
    assert runs["alone", 0].stdout == runs["with-others", 0].stdout == text


@members(ALL)
async def test_errors_of_every_way_are_kept(way: Way) -> None:
    run = await way.ask_one(sh("a", "echo nothing here >&2; exit 3", alternatives=(("sh", "-c", "echo nor here >&2"),)))
    assert (run.stdout, run.stderr, run.exit_status) == ("", "nothing here\nnor here", 0)


@members(ALL)
async def test_saying_nothing_on_errors_is_not_printing_nothing(way: Way) -> None:
    run = await way.ask_one(sh("a", "echo out; echo nothing >&2", alternatives=(("echo", "other"),)))
    assert (run.stdout, run.stderr) == ("out\n", "nothing")


@pytest.mark.real_sshd
@pytest.mark.skipif(not IS_ROOT, reason="only root can give sudo rights")
@pytest.mark.skipif(shutil.which("sudo") is None, reason="sudo is not installed")
async def test_root_is_asked_last_exactly_as_a_sudoers_line_allows(sshd: Sshd) -> None:
    way = over_ssh(sshd)
    private = Command("private", ("/usr/bin/cat", "/etc/shadow"), as_root=True)
    public = Command("public", ("/usr/bin/cat", "/etc/hostname"), as_root=True)
    refused = await way.ask(private, public)
    assert re.match(
        r"sudo refused \(/usr/bin/cat: /etc/shadow: Permission denied.*sudo: a password is required",
        str(refused["private", 0].failure),
    )
    assert refused["public", 0].failure is None

    (as_root,) = root_ways(private)
    sshd.allow_sudo(f"/usr/bin/{shlex.join(as_root[2:])}")
    allowed = await way.ask(private, Command("other", ("/usr/bin/cat", "/etc/gshadow"), as_root=True))
    assert allowed["private", 0].failure is None
    assert "root:" in allowed["private", 0].stdout
    assert "sudo refused" in str(allowed["other", 0].failure)
