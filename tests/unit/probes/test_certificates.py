"""certificates: dates as openssl prints them, from files that are made here, and answers that are none."""

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.errors import CannotRead
from bot.probes.certificates import PROBE, CertificatesReading, parse
from tests.readings.recorded import CAPTURES, once, recorded


def test_kubelets_own_certificate_is_told_from_a_clusters() -> None:
    own = parse(recorded(CAPTURES / "certificates" / "synthetic--kubeadm-not-root.out"))
    assert [each.is_self_signed for each in own.certificates] == [True, True]
    assert own.hidden == ("/var/lib/kubelet/pki/kubelet-client-current.pem",)
    k3s = parse(recorded(CAPTURES / "certificates" / "synthetic--k3s-expired.out"))
    assert [(each.is_self_signed, each.is_client) for each in k3s.certificates] == [(False, True), (False, False)]
    assert k3s.least_left_seconds == -6596


def answer(*lines: str) -> str:
    return "\n".join(("now 1795305600", "kubelet", "==> /served <==", *lines, "-- end --", ""))


@pytest.mark.parametrize(
    "lines",
    [
        ("unable to load certificate",),
        ("notBefore=Nov 21 22:10:04 2025 GMT",),
        ("notBefore=Nov 21 22:10:04 2025 GMT", "notAfter=Nov 21 22:10:04 2025 GMT"),
        ("notBefore=Nov 31 22:10:04 2025 GMT", "notAfter=Nov 21 22:10:04 2026 GMT"),
        ("notBefore=nov. 21 22:10:04 2025 GMT", "notAfter=nov. 21 22:10:04 2026 GMT"),
    ],
)
def test_what_is_no_certificate_is_unread(lines: tuple[str, ...]) -> None:
    with pytest.raises(CannotRead, match="certificates"):
        parse(once("look", answer(*lines)))


def test_openssl_is_only_missed_where_there_is_a_kubelet() -> None:
    with pytest.raises(CannotRead, match="openssl is missing"):
        parse(once("look", "now 1795305600\nkubelet\nno openssl\n"))
    assert parse(once("look", "now 1795305600\n-- end --\n")).has_kubelet is False


def look(kubelet: Path) -> CertificatesReading:
    """Run the fragment as it is, but for where the kubelet is; its port is one that nobody listens on."""
    (command,) = PROBE.commands
    script = command.argv[2].replace("/var/lib/kubelet", str(kubelet)).replace("127.0.0.1:10250", "127.0.0.1:1")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return parse(once("look", done.stdout))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_real_certificate_beside_its_key_is_read(tmp_path: Path) -> None:
    pki = tmp_path / "pki"
    pki.mkdir()
    asked = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/O=nodes/CN=node-1"]
    made = subprocess.run([*asked, "-keyout", "-"], capture_output=True, text=True, timeout=60, check=True)
    (pki / "kubelet-client-current.pem").write_text(made.stdout)
    reading = look(tmp_path)
    (client,) = reading.certificates
    assert (client.is_client, client.is_self_signed) == (True, True)
    assert client.ends_at - client.begins_at == timedelta(days=30)
    assert abs(reading.now_at - datetime.now(UTC)) < timedelta(minutes=2)


def test_node_without_kubelet_says_so(tmp_path: Path) -> None:
    reading = look(tmp_path / "nowhere")
    assert reading == CertificatesReading(reading.now_at)
