"""Servers that are no good: what a node's port may be instead of a working sshd."""

import contextlib
import selectors
import socket
import struct
import threading
from collections.abc import Callable, Iterator

ADDRESS = "127.0.0.1"


@contextlib.contextmanager
def listening(backlog: int = 128) -> Iterator[socket.socket]:
    """A socket whose connections the kernel accepts and nobody ever speaks on."""
    with socket.create_server((ADDRESS, 0), backlog=backlog) as door:
        yield door


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """A port that nobody else gets and nobody listens on."""
    with socket.socket() as door:
        door.bind((ADDRESS, 0))
        yield int(door.getsockname()[1])


@contextlib.contextmanager
def full() -> Iterator[int]:
    """A port whose queue is full: further connects are dropped unanswered, as by a firewall."""
    with contextlib.ExitStack() as kept:
        door = kept.enter_context(listening(backlog=0))
        port = int(door.getsockname()[1])
        for _ in range(4):
            waiting = kept.enter_context(socket.socket())
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect((ADDRESS, port))
        yield port


@contextlib.contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port that hands every connection to `answer`, in a thread each."""
    with listening() as door, contextlib.ExitStack() as kept:
        ended = threading.Event()

        def accept() -> None:
            while not ended.is_set():
                try:
                    connection, _ = door.accept()
                except OSError:
                    return
                kept.callback(connection.close)
                kept.callback(_shut, connection)
                threading.Thread(target=_quietly, args=(answer, connection), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield int(door.getsockname()[1])
        finally:
            ended.set()
            _shut(door)
            accepting.join()


def saying(text: bytes) -> Callable[[socket.socket], None]:
    """Say this, then nothing more."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(text)
        while connection.recv(4096):
            pass

    return answer


def hanging_up(connection: socket.socket) -> None:
    """Hang up at once."""
    connection.shutdown(socket.SHUT_RDWR)


def stalling(port: int, after_bytes: int) -> Callable[[socket.socket], None]:
    """Pass everything to and from a real server, until that has said so much; then keep silent."""

    def answer(connection: socket.socket) -> None:
        with socket.create_connection((ADDRESS, port)) as server, selectors.DefaultSelector() as watched:
            watched.register(connection, selectors.EVENT_READ, server)
            watched.register(server, selectors.EVENT_READ, connection)
            left = after_bytes
            while left > 0:
                for key, _ in watched.select():
                    source, target = key.fileobj, key.data
                    assert isinstance(source, socket.socket)
                    chunk = source.recv(min(4096, left) if source is server else 4096)
                    if not chunk:
                        return
                    target.sendall(chunk)
                    left -= len(chunk) if source is server else 0
            while connection.recv(4096):
                pass

    return answer


def _quietly(answer: Callable[[socket.socket], None], connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        answer(connection)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class Cut:
    """A way through to a real server that can be cut."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._silent = threading.Event()

    def passing(self, port: int) -> Callable[[socket.socket], None]:
        """Pass everything both ways until it is cut."""

        def answer(connection: socket.socket) -> None:
            with socket.create_connection((ADDRESS, port)) as server:
                self._sockets += [connection, server]
                back = threading.Thread(target=_quietly_pass, args=(server, connection, self._silent), daemon=True)
                back.start()
                _quietly_pass(connection, server, self._silent)
                back.join()

        return answer

    def off(self) -> None:
        """End the connections of both sides at once, with a reset."""
        for end in self._sockets:
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            _shut(end)
            end.close()

    def silently(self) -> None:
        """Pass nothing more, and tell neither side."""
        self._silent.set()


def _quietly_pass(source: socket.socket, target: socket.socket, silent: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while (chunk := source.recv(65536)) and not silent.is_set():
            target.sendall(chunk)
    if silent.is_set():
        threading.Event().wait(60)  # nor is it told that the other side has hung up
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
