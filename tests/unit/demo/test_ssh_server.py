"""A simulated node's SSH server keeps the batch's promises and can break each of them on demand."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncssh
import pytest

from bot.demo.faults import Fault
from bot.demo.machine.command import Answer
from bot.demo.ssh_server import ADDRESS, USER, NodeServer
from bot.domain.batch import Batch, FrameDecoder, Sampling, launch_command
from bot.domain.command import Command, Completed

NONCE = "0123456789abcdef"
KEY = asyncssh.generate_private_key("ssh-ed25519")


class Echoing:
    """A machine that says what it was asked; `sleep` takes its time."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def uptime(self) -> float:
        return 1000.25

    async def run(self, argv: Sequence[str]) -> Answer:
        self.asked.append(tuple(argv))
        match argv:
            case ["nothing" | "/usr/bin/nothing"]:
                return Answer(b"", b"nothing to say\n", 3)
            case ["forever"]:
                await asyncio.Event().wait()
            case ["much"]:
                return Answer(b"x" * 100_000)
        return Answer(" ".join(argv).encode() + b"\n", b"", 0)


@asynccontextmanager
async def node(fault: Fault | None = None) -> AsyncIterator[NodeServer]:
    server = NodeServer(Echoing(), KEY, fault)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def connect(server: NodeServer, **more: object) -> asyncssh.SSHClientConnection:
    known = asyncssh.import_known_hosts(server.known_hosts_line())
    options: dict[str, object] = {"username": USER, "client_keys": [KEY], "known_hosts": known, "config": [], **more}
    return await asyncssh.connect(ADDRESS, server.port, agent_path=None, **options)


async def ask(server: NodeServer, *commands: Command, samples: int = 1) -> tuple[list[Completed], str]:
    """Return the finished runs, and how the talk ended."""
    batch = Batch.of([("probe", command) for command in commands], Sampling(samples))
    unframer, done = FrameDecoder(batch, NONCE), []
    script = batch.script(NONCE)
    async with await connect(server) as connection:
        process = await connection.create_process(launch_command(script), encoding=None, send_eof=False)
        process.stdin.write(script.encode())
        rest = b""
        broken = False
        try:
            while chunk := await process.stdout.read(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                done += [run for line in lines for run in unframer.feed(line.decode("ascii", "replace"))]
        except asyncssh.Error:
            broken = True
    return done, "broken" if broken else "finished" if unframer.finished else "ended"


async def test_single_command_is_answered_for_a_person() -> None:
    async with node() as server, await connect(server) as connection:
        done = await connection.run("uname -r 'two words'", check=True)
        assert done.stdout == "uname -r two words\n"
        piped = await connection.run("uname | sh")
        assert (piped.exit_status, piped.stdout) == (2, "")


async def test_shell_terminal_subsystem_and_forwarding_are_refused() -> None:
    async with node() as server, await connect(server) as connection:
        shell = await connection.run()
        assert (shell.exit_status, shell.stdout, shell.stderr) == (
            2,
            "",
            "sh: a demo node has no shell: name a command\n",
        )
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.create_process("uname", term_type="vt100")
        with pytest.raises(asyncssh.Error):
            await connection.start_sftp_client()
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.open_connection("127.0.0.1", 9)
        with pytest.raises(asyncssh.ChannelListenError):
            await connection.forward_remote_port("127.0.0.1", 0, "127.0.0.1", 9)


OTHER_KEY = asyncssh.generate_private_key("ssh-ed25519")


@pytest.mark.parametrize("login", [{"username": "root"}, {"client_keys": [OTHER_KEY]}], ids=["user", "key"])
async def test_no_other_user_or_key_comes_in(login: dict[str, object]) -> None:
    async with node() as server:
        with pytest.raises(asyncssh.PermissionDenied):
            await connect(server, **login)


async def test_refusing_node_refuses() -> None:
    async with node(Fault.REFUSES) as server:
        with pytest.raises(ConnectionRefusedError):
            await connect(server)


async def test_silent_node_accepts_and_says_nothing() -> None:
    async with node(Fault.SILENT) as server:
        reader, writer = await asyncio.open_connection(ADDRESS, server.port)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await reader.read(1)
        writer.close()
        await writer.wait_closed()


async def test_changed_host_key_is_not_the_one_on_file() -> None:
    async with node(Fault.OTHER_HOST_KEY) as server:
        with pytest.raises(asyncssh.HostKeyNotVerifiable):
            await connect(server)


async def test_node_keeps_its_port_and_key_through_a_fault() -> None:
    async with node() as server:
        line = server.known_hosts_line()
        await server.switch(Fault.REFUSES)
        await server.switch(None)
        assert server.known_hosts_line() == line
        _, end = await ask(server, Command("a", ("echo",)))
        assert end == "finished"
