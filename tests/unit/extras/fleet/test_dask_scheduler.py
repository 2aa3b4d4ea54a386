"""Which addresses of a scheduler may be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.domain.errors import SchedulerError
from bot.extras.fleet.dask_scheduler import SchedulerAddress


@pytest.mark.parametrize(
    "url",
    [
        "tcp://127.0.0.1:8786",
        "tcp://localhost:1",
        "tcp://[::1]:8786",
    ],
)
def test_plain_text_within_this_machine(url: str) -> None:
    address = SchedulerAddress.of(url)
    assert (address.url, address.is_local, address.is_tls) == (url, True, False)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("tcp://10.0.0.7:8786", "plain text to another machine"),
        ("tcp://localhost.example:8786", "plain text to another machine"),
        ("tcp://127.0.0.1.example:8786", "plain text to another machine"),
        ("tls://10.0.0.7:8786", "not given: --scheduler-ca, --scheduler-cert, --scheduler-key."),
        ("ws://127.0.0.1:8786", "not reached by ws://"),
        ("127.0.0.1:8786", "not an address of a scheduler"),
        ("tcp://127.0.0.1", "not an address of a scheduler"),
        ("tcp://127.0.0.1@10.0.0.7:8786", "not an address of a scheduler"),
        ("tcp://127.0.0.1:8786 tcp://10.0.0.7:1", "not an address of a scheduler"),
        ("tcp://\x1b[31m:8786", "not an address of a scheduler"),
        ("", "not an address of a scheduler"),
    ],
)
def test_what_is_refused_and_why(url: str, sentence: str) -> None:
    with pytest.raises(SchedulerError) as no:
        SchedulerAddress.of(url)
    assert sentence in no.value.sentence
    assert "\x1b" not in str(no.value)
    assert no.value.try_next


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("ca.pem", "own.pem", "own.key")]
    for file in files[:2]:
        file.write_text("PEM")
    with pytest.raises(SchedulerError, match=r"--scheduler-key: .*own\.key cannot be read"):
        SchedulerAddress.of("tls://10.0.0.7:8786", *files)
    files[2].write_text("PEM")
    assert SchedulerAddress.of("tls://10.0.0.7:8786", *files).is_tls
