"""A port of loopback for a program that has to be told one."""

import socket


def free_port() -> int:
    """Return a port that nobody had a moment ago."""
    with socket.socket() as chooser:
        chooser.bind(("127.0.0.1", 0))
        return int(chooser.getsockname()[1])
