"""A batch runs the same whatever the user's login shell is, and whatever its start-up files print."""

import re
import shutil
import time

import pytest

from bot.domain.command import Command, SampleTimes
from bot.domain.errors import ConnectionLost, ShellStalled
from tests.conftest import missing
from tests.contract.ways import over_ssh, peak_kib, promised, reset_peak, short
from tests.nodes.sshd import IS_ROOT, SSHD, Sshd

pytestmark = [
    pytest.mark.real_sshd,
    pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: apt install openssh-server)"),
    pytest.mark.skipif(not IS_ROOT, reason="only root can make a user with another login shell"),
]

# Every shell reads at least one file of its user also when it runs a single command.
START_UP_FILES = {
    "sh": None,
    "dash": None,
    "bash": ".bashrc",
    "zsh": ".zshenv",
    "tcsh": ".cshrc",
    "csh": ".cshrc",
    "mksh": None,
    "fish": ".config/fish/config.fish",
}
ODD = 'it\'s $(touch pwned) `id` \\ "q" !x é'


def path_of(shell: str) -> str:
    found = shutil.which(shell, path="/bin:/usr/bin:/usr/local/bin")
    if found is None:
        missing(f"{shell} is not installed")
    return found


def start_up(node: Sshd, shell: str, line: str) -> None:
    name = START_UP_FILES[shell]
    assert name is not None
    path = node.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{line}\n")
    for made in (path, *path.parents):
        if made == node.home:
            break
        shutil.chown(made, node.user)


@pytest.mark.parametrize("shell", list(START_UP_FILES))
async def test_batch_runs_under_every_login_shell(shell: str) -> None:
    with Sshd(shell=path_of(shell)) as node:
        runs = await over_ssh(node).ask(
            Command("odd", ("printf", "%s", ODD)),
            Command("twice", ("echo", "twice"), looks=SampleTimes.TWICE, lane="x"),
            Command("root", ("/usr/bin/false",), as_root=True, lane="y"),
        )
    assert runs["odd", 0].stdout == ODD
    assert [runs["twice", look].stdout for look in (0, 1)] == ["twice\n"] * 2
    assert "sudo" in str(runs["root", 0].failure) or "missing" in str(runs["root", 0].failure)


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh", "fish"])
async def test_chatter_of_start_up_files_is_passed_over(shell: str) -> None:
    with Sshd(shell=path_of(shell)) as node:
        start_up(node, shell, 'echo "Welcome, %z l0p0 AAAA"; echo "%z. x"; printf "no newline at the end"')
        run = await over_ssh(node).ask_one(Command("a", ("echo", "answer")))
        assert run.stdout == "answer\n"


async def test_50_megabytes_of_chatter_are_passed_over_and_leave_memory_flat() -> None:
    with Sshd(shell=path_of("bash")) as node:
        start_up(node, "bash", "yes 'Welcome to the node' | head -c 50000000; yes | tr -d '\\n' | head -c 9000000")
        way = over_ssh(node)
        await way.ask_one(Command("a", ("echo", "answer")))
        reset_peak()
        before = peak_kib()
        run = await way.ask_one(Command("a", ("echo", "answer")))
        assert run.stdout == "answer\n"
        assert peak_kib() - before < 16 * 1024


async def test_start_up_file_that_never_ends_is_a_stalled_shell() -> None:
    with Sshd(shell=path_of("bash")) as node:
        start_up(node, "bash", "echo 'mounting homes'; sleep 600")
        deadline = short()
        started = time.monotonic()
        with pytest.raises(ShellStalled, match="did not answer in time; it said: mounting homes") as caught:
            await over_ssh(node).ask(Command("a", ("echo", "answer")), deadline=deadline)
        assert time.monotonic() - started < promised(deadline)
        assert caught.value.kind == "shell-stall"


async def test_slow_start_up_file_costs_time_and_nothing_else() -> None:
    with Sshd(shell=path_of("bash")) as node:
        start_up(node, "bash", "sleep 1")
        run = await over_ssh(node).ask_one(Command("a", ("echo", "answer")))
        assert run.stdout == "answer\n"


@pytest.mark.parametrize("shell", ["nologin", "false"])
async def test_login_without_a_shell_says_what_it_was_told(shell: str) -> None:
    path = shutil.which(shell, path="/usr/sbin:/sbin:/bin:/usr/bin")
    if path is None:
        missing(f"{shell} is not installed")
    with Sshd(shell=path) as node:
        with pytest.raises(ConnectionLost, match="closed the session") as caught:
            await over_ssh(node).ask(Command("a", ("echo", "answer")))
        if shell == "nologin":
            assert re.search("it said: This account is currently not available", caught.value.sentence)
        assert "have a real shell" in caught.value.try_next


async def test_command_forced_on_the_key_is_no_shell() -> None:
    with Sshd() as node:
        keys = node.folder / "authorized_keys"
        keys.write_text(f'command="echo backups only" {keys.read_text()}')
        with pytest.raises(ConnectionLost, match="it said: backups only"):
            await over_ssh(node).ask(Command("a", ("echo", "answer")))
