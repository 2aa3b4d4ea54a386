"""The way to a cluster's API, over a real socket: what is sent, what is heard, and which cluster it will not guess."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bot.demo.cluster.cluster import Cluster, DemoNode
from bot.domain.cluster_call import Call
from bot.domain.errors import ConnectionLost, UnknownCluster
from bot.transport.kubernetes import KubernetesApi
from tests.nodes.cluster_server import ClusterServer

LIMIT = timedelta(seconds=5)
NODE = Call("GET", "/api/v1/nodes/n1")


@pytest.fixture
async def server() -> AsyncIterator[ClusterServer]:
    cluster = Cluster.of([DemoNode("n1", lambda: "boot-1")], [], lambda: 0.0)
    async with ClusterServer.running(cluster) as running:
        yield running


@asynccontextmanager
async def api_of(folder: Path, kubeconfig: str) -> AsyncIterator[KubernetesApi]:
    """The way to the cluster of a kubeconfig."""
    (folder / "config").write_text(kubeconfig)
    made = KubernetesApi(folder / "config")
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def api(server: ClusterServer, tmp_path: Path) -> AsyncIterator[KubernetesApi]:
    async with api_of(tmp_path, server.kubeconfig("prod")) as made:
        yield made


async def test_call_goes_out_as_it_was_written_and_its_answer_comes_back(
    server: ClusterServer, api: KubernetesApi
) -> None:
    answer = await api.call("prod", NODE, LIMIT)
    assert (answer.is_done, json.loads(answer.body)["metadata"]["name"]) == (True, "n1")
    patch = Call("PATCH", "/api/v1/nodes/n1", '{"spec":{"unschedulable":true}}')
    assert (await api.call("prod", patch, LIMIT)).is_done
    assert (await api.call("prod", Call("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"), LIMIT)).is_done
    assert server.calls == [
        "GET /api/v1/nodes/n1",
        'PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":true}}',
        "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1",
    ]
    refused = await api.call("prod", Call("GET", "/api/v1/nodes/other"), LIMIT)
    assert (refused.status, refused.is_done) == (404, False)


async def test_current_context_is_never_taken_and_an_unknown_one_is_named(
    server: ClusterServer, api: KubernetesApi
) -> None:
    for name in ("somewhere-else", "", "PROD"):
        with pytest.raises(UnknownCluster, match="it has prod"):
            await api.call(name, NODE, LIMIT)
    assert server.calls == []


def clusters(cluster: str) -> str:
    return (
        '{"clusters":[{"name":"x","cluster":{' + cluster + '}}],"contexts":[{"name":"prod","context":{"cluster":"x"}}]}'
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "- a",
        "a: [",
        "clusters: 1",
        '{"clusters":[],"contexts":[{"name":"prod"}]}',
        '{"clusters":[],"contexts":[{"name":"prod","context":{"cluster":"x"}}]}',
        clusters('"server":"http://h:port"'),
        clusters('"server":7'),
        clusters('"server":"https://h","certificate-authority":"no-such-file"'),
    ],
)
async def test_kubeconfig_that_cannot_be_used_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(UnknownCluster):
        await KubernetesApi(tmp_path / "config").call("prod", NODE, LIMIT)


async def test_without_a_kubeconfig_there_is_no_cluster(tmp_path: Path) -> None:
    for kubeconfig in (None, tmp_path / "missing"):
        with pytest.raises(UnknownCluster):
            await KubernetesApi(kubeconfig).call("prod", NODE, LIMIT)
    with pytest.raises(UnknownCluster):  # no pod's account is here
        await KubernetesApi(None, "in-cluster").call("in-cluster", NODE, LIMIT)


async def test_api_that_is_gone_is_a_lost_connection(server: ClusterServer, api: KubernetesApi) -> None:
    assert (await api.call("prod", NODE, LIMIT)).is_done
    server.down = True
    with pytest.raises(ConnectionLost, match="prod cannot be reached"):
        await api.call("prod", NODE, LIMIT)
    server.down = False
    await server.stop()
    with pytest.raises(ConnectionLost, match="prod cannot be reached"):
        await api.call("prod", NODE, LIMIT)
    await server.start()
    assert (await api.call("prod", NODE, LIMIT)).is_done, "and is there again when it is back"


async def test_silence_ends_with_the_limit(tmp_path: Path) -> None:
    held: list[asyncio.StreamWriter] = []
    silent = await asyncio.start_server(lambda _, writer: held.append(writer), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    async with api_of(tmp_path, config(f"http://127.0.0.1:{port}")) as api:
        with pytest.raises(ConnectionLost, match=r"did not answer in 0\.2 s"):
            await api.call("prod", NODE, timedelta(seconds=0.2))
    for writer in held:
        writer.close()
    silent.close()


async def test_answer_without_end_is_cut(tmp_path: Path) -> None:
    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 1024 * 1024)
                await writer.drain()
        except OSError:
            writer.close()

    endless = await asyncio.start_server(flood, "127.0.0.1", 0)
    port = endless.sockets[0].getsockname()[1]
    async with api_of(tmp_path, config(f"http://127.0.0.1:{port}")) as api:
        assert (await api.call("prod", NODE, timedelta(seconds=30))).cut
    endless.close()


@dataclass(frozen=True)
class Authority:
    """Whoever signs a cluster's certificates."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def made(cls) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(key, _signed("ca", key, key.public_key(), "ca", is_authority=True))

    def issued(self, name: str) -> tuple[bytes, bytes]:
        """A certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(name, self.key, key.public_key(), "ca")
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(*form)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def _signed(
    name: str, by: ec.EllipticCurvePrivateKey, key: ec.EllipticCurvePublicKey, issuer: str, is_authority: bool = False
) -> x509.Certificate:
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)]) for one in (name, issuer)]
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(names[0]).issuer_name(names[1]).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    return builder.add_extension(here, critical=False).sign(by, hashes.SHA256())


async def test_certificates_of_the_clusters_own_authority_are_the_login_and_no_others(tmp_path: Path) -> None:
    ours, others = Authority.made(), Authority.made()
    (tmp_path / "ca.pem").write_bytes(ours.pem)
    certificate, key = ours.issued("server")
    (tmp_path / "server.pem").write_bytes(certificate + key)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(tmp_path / "ca.pem"))
    tls.load_cert_chain(tmp_path / "server.pem")
    tls.verify_mode = ssl.CERT_REQUIRED
    cluster = Cluster.of([DemoNode("n1", lambda: "boot-1")], [], lambda: 0.0)
    async with ClusterServer.running(cluster, tls) as server:
        for authority, signer, is_let_in in ((ours, ours, True), (others, ours, False), (ours, others, False)):
            told = json.loads(server.kubeconfig("prod"))
            told["clusters"][0]["cluster"]["certificate-authority-data"] = base64.b64encode(authority.pem).decode()
            certificate, key = signer.issued("zombie")
            told["users"][0]["user"] |= {
                "client-certificate-data": base64.b64encode(certificate).decode(),
                "client-key-data": base64.b64encode(key).decode(),
            }
            async with api_of(tmp_path, json.dumps(told)) as api:
                with contextlib.nullcontext() if is_let_in else pytest.raises(ConnectionLost):
                    assert (await api.call("prod", NODE, LIMIT)).is_done
        assert len(server.calls) == 1


async def test_cluster_whose_certificate_is_not_checked_is_asked_nothing(tmp_path: Path) -> None:
    authority = Authority.made()
    certificate, key = authority.issued("server")
    (tmp_path / "server.pem").write_bytes(certificate + key)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "server.pem")
    async with ClusterServer.running(Cluster.of([DemoNode("n1", lambda: "boot-1")], [], lambda: 0.0), tls) as server:
        told = json.loads(server.kubeconfig("prod"))
        told["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
        async with api_of(tmp_path, json.dumps(told)) as api:
            with pytest.raises(UnknownCluster, match="certificate off"):
                await api.call("prod", NODE, LIMIT)
        assert server.calls == []


@pytest.mark.parametrize("server", ["http://k8s.example:6443", "http://10.0.0.1", "ftp://127.0.0.1", "k8s.example"])
async def test_cluster_that_others_could_listen_to_is_asked_nothing(server: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(config(server))
    with pytest.raises(UnknownCluster, match="neither https nor this machine"):
        await KubernetesApi(tmp_path / "config").call("prod", NODE, LIMIT)


async def test_cluster_on_this_machine_is_asked_without_the_environments_proxy(
    server: ClusterServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with api_of(tmp_path, server.kubeconfig("prod")) as api:
        assert (await api.call("prod", NODE, LIMIT)).is_done


SECRET = "s3cr3t-Tok3n-QZ91xYw7Lm"
PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "/bin/sh"}


@pytest.mark.parametrize(
    "user",
    [
        json.dumps({"token": f"{SECRET}\nx"}),
        f'{{token: "{SECRET}',
        f"{{token: *{SECRET}}}",
        f"{{token: !{SECRET} x}}",
        json.dumps({"exec": {**PLUGIN, "args": ["-c", f"echo the token is {SECRET} >&2; exit 1"]}}),
        json.dumps({"exec": {**PLUGIN, "args": ["-c", f"echo Authorization: Bearer {SECRET} >&2; exit 1"]}}),
    ],
)
async def test_login_that_cannot_be_used_is_in_no_sentence(server: ClusterServer, tmp_path: Path, user: str) -> None:
    told = json.loads(server.kubeconfig("prod"))
    told["users"] = [{"name": told["contexts"][0]["context"]["user"], "user": "HERE"}]
    async with api_of(tmp_path, json.dumps(told).replace('"HERE"', user)) as api:
        with pytest.raises((ConnectionLost, UnknownCluster)) as caught:
            await api.call("prod", NODE, LIMIT)
    assert SECRET not in str(caught.value)


async def test_authority_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    told = json.loads(config("https://127.0.0.1:1"))
    nobody = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n").decode()
    told["clusters"][0]["cluster"]["certificate-authority-data"] = nobody
    (tmp_path / "config").write_text(json.dumps(told))
    with pytest.raises(UnknownCluster):
        await KubernetesApi(tmp_path / "config").call("prod", NODE, LIMIT)


def config(url: str) -> str:
    """A kubeconfig for a server, with no user."""
    return json.dumps({
        "clusters": [{"name": "x", "cluster": {"server": url}}],
        "contexts": [{"name": "prod", "context": {"cluster": "x"}}],
    })  # fmt: skip
