"""certificates: dates as openssl prints them, from files that are made here, and answers that are none."""

import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bot.domain.errors import CannotRead
from bot.probes.certificates import PROBE, CertificatesReading, parse
from tests.readings.node_tools import printed_by
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


def test_tools_are_only_missed_where_there_is_a_kubelet() -> None:
    with pytest.raises(CannotRead, match="openssl and base64 are missing"):
        parse(once("look", "now 1795305600\nkubelet\nno openssl\n"))
    assert parse(once("look", "now 1795305600\n-- end --\n")).has_kubelet is False


def test_port_that_shows_no_certificate_in_time_is_told_from_one_that_nobody_holds() -> None:
    assert parse(once("look", answer("silent"))).is_silent
    assert not parse(once("look", answer())).is_silent


def look(kubelet: Path, tools: Path | None = None) -> CertificatesReading:
    """Run the fragment as it is, but for where the kubelet is; its port is one that nobody listens on."""
    (command,) = PROBE.commands
    script = command.argv[2].replace("/var/lib/kubelet", str(kubelet)).replace("127.0.0.1:10250", "127.0.0.1:1")
    return parse(once("look", printed_by(["/bin/sh", "-c", script], str(tools or os.environ["PATH"]))))


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


def without_openssl(tmp_path: Path, *left_out: str) -> Path:
    """Return a folder of the tools that a system without openssl has."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in {"awk", "base64", "date", "tr"} - set(left_out):
        (tools / name).symlink_to(shutil.which(name) or name)
    return tools


def made(begins: datetime, ends: datetime) -> str:
    """Return a certificate and its key, as the kubelet keeps them in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    named, signed = (x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, cn)]) for cn in ("system:node:n", "ca-7Z"))
    unsigned = x509.CertificateBuilder(signed, named, key.public_key(), x509.random_serial_number(), begins, ends)
    certificate = unsigned.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.decode() * 2 + key.private_bytes(*plain).decode()


@pytest.mark.parametrize(
    "ends", [datetime(2027, 3, 9, 4, 5, 6, tzinfo=UTC), datetime(2061, 12, 31, 23, 0, 1, tzinfo=UTC)]
)
def test_without_openssl_the_times_are_read_from_the_certificate_itself(tmp_path: Path, ends: datetime) -> None:
    begins = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "kubelet-client-current.pem").write_text(made(begins, ends))
    (tmp_path / "pki" / "kubelet.crt").write_text(made(begins, begins + timedelta(days=1)))
    (client,) = look(tmp_path, without_openssl(tmp_path)).certificates
    assert (client.is_client, client.begins_at, client.ends_at) == (True, begins, ends)
    assert client.lines[0] == "notBefore=Jan 2 03:04:05 2026 GMT"  # as openssl prints it
    if shutil.which("openssl"):
        assert client.lines == look(tmp_path).certificates[0].lines[:2]


@pytest.mark.parametrize(
    "text", ["", "no certificate", "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n"]
)
def test_without_openssl_what_is_no_certificate_is_unread(tmp_path: Path, text: str) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "kubelet-server-current.pem").write_text(text)
    with pytest.raises(CannotRead, match="malformed"):
        look(tmp_path, without_openssl(tmp_path))


def test_without_either_tool_nothing_is_told_of_a_kubelet(tmp_path: Path) -> None:
    with pytest.raises(CannotRead, match="openssl and base64"):
        look(tmp_path, without_openssl(tmp_path, "base64"))


def test_node_without_kubelet_says_so(tmp_path: Path) -> None:
    reading = look(tmp_path / "nowhere")
    assert reading == CertificatesReading(reading.now_at)
