"""`zombie diff` in a terminal, where somebody stops it."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from bot.__main__ import main


def test_what_was_read_before_somebody_stopped_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known_hosts").touch()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        (tmp_path / "inventory.toml").write_text(
            '[ssh]\nknown_hosts = "known_hosts"\n'
            + "".join(f'[nodes.{name}]\naddress = "127.0.0.1"\nport = {port}\n' for name in ("sick", "well"))
        )

        def stopped() -> None:
            with silent.accept()[0]:
                os.kill(os.getpid(), signal.SIGINT)
                given_up.wait()

        given_up = threading.Event()
        at_the_first_login = threading.Thread(target=stopped, daemon=True)
        at_the_first_login.start()
        status = main(["diff", "sick", "--against", "well"])
        given_up.set()
        at_the_first_login.join()
    out, err = capsys.readouterr()
    assert (status, out) == (130, "")
    assert "interrupted, 0 of 2 nodes were read; nothing was compared, and nothing changed on any of them" in err
