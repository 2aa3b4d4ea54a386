"""An address to listen on, as people write it: HOST:PORT."""

from __future__ import annotations

MOST_PORT = 65535
HERE = "127.0.0.1"


def host_and_port(text: str) -> tuple[str, int]:
    """Return both parts; without a host, 127.0.0.1. Port 0 takes a free port.

    Raises: ValueError when it does not have that form.

    Example:
    >>> host_and_port("0.0.0.0:8080"), host_and_port("[::1]:0"), host_and_port(":80")
    (('0.0.0.0', 8080), ('::1', 0), ('127.0.0.1', 80))
    """
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= len(str(MOST_PORT))):
        raise ValueError("an address to listen on is written like 127.0.0.1:8080")
    number = int(port)
    if number > MOST_PORT or any(not letter.isprintable() or letter.isspace() or letter in "/@?#" for letter in host):
        raise ValueError("an address to listen on is written like 127.0.0.1:8080")
    return host.strip("[]") or HERE, number
