"""`zombie diff` in a terminal, where somebody stops it."""

from __future__ import annotations

import os
import signal
import socket
import threading

from tests.commandline import CommandLine


def test_what_was_read_before_somebody_stopped_it_is_said(run: CommandLine) -> None:
    run.unreachable("sick", "well")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        inventory = run.folder / "inventory.toml"
        inventory.write_text(inventory.read_text().replace("port = 1\n", f"port = {silent.getsockname()[1]}\n"))

        def stopped() -> None:
            with silent.accept()[0]:
                os.kill(os.getpid(), signal.SIGINT)
                given_up.wait()

        given_up = threading.Event()
        at_the_first_login = threading.Thread(target=stopped, daemon=True)
        at_the_first_login.start()
        status, out, err = run("diff", "sick", "--against", "well")
        given_up.set()
        at_the_first_login.join()
    assert (status, out) == (130, "")
    assert "interrupted, 0 of 2 nodes were read; nothing was compared, and nothing changed on any of them" in err
