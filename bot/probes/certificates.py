"""The kubelet's certificates: their validity, from their files and from the kubelet's port.

Defined in: openssl-x509(1), openssl-s_client(1); Kubernetes, "TLS bootstrapping" and kubelet's `--cert-dir`; K3s and
RKE2 keep theirs below /var/lib/rancher.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.dates import DATE, instant
from bot.probes.formats.fragment import END, fragment
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate. `path` is its file, or `/served` for the certificate at the kubelet's port."""

    path: str
    begins_at: datetime
    ends_at: datetime
    is_self_signed: bool = False  # signed by the kubelet itself: nobody checks it
    lines: tuple[str, ...] = ()

    @property
    def is_client(self) -> bool:
        """True for the certificate that the kubelet shows to the API server."""
        return "client" in self.path

    @property
    def what(self) -> str:
        """Which one it is, in words."""
        kind = "client" if self.is_client else "server"
        return (
            "the certificate that the kubelet serves"
            if self.path == "/served"
            else f"the kubelet's {kind} certificate {self.path}"
        )


@dataclass(frozen=True, slots=True)
class CertificatesReading:
    """The kubelet's certificates; empty if there is no kubelet, or it uses none.

    Shape: only root may read `hidden`; `is_silent`: something listens at the kubelet's port but showed no certificate
    in time.
    """

    probe: ClassVar[str] = "certificates"

    now_at: datetime
    has_kubelet: bool = False
    certificates: tuple[Certificate, ...] = ()
    hidden: tuple[str, ...] = ()
    is_silent: bool = False

    @property
    def least_left_seconds(self) -> float:
        """The seconds until the first expiry, negative if it has passed; 1e12 without certificates."""
        return min(((each.ends_at - self.now_at).total_seconds() for each in self.certificates), default=1e12)


_KUBELET, _RANCHER = "/var/lib/kubelet", "/var/lib/rancher"
_FILES = (
    *(f"{_KUBELET}/pki/{name}" for name in ("kubelet-client-current.pem", "kubelet-server-current.pem", "kubelet.crt")),
    *(f"{_RANCHER}/*/agent/{name}.crt" for name in ("client-kubelet", "serving-kubelet")),
)
_SHOW = "openssl x509 -noout -startdate -enddate -subject -issuer"
# Small systems have no openssl. A certificate's two times are the first strings of their form in it (RFC 5280, section
# 4.1.2.5). Its names are not read, so a certificate that the kubelet may have signed for itself is skipped.
_FIRST_ONLY = "/-----BEGIN CERTIFICATE-----/ { f = 1; next } /-----END CERTIFICATE-----/ { exit } f"
_AS_OPENSSL = (
    "n < 2 && match($0, /^[0-9]+Z/) && (RLENGTH == 13 || RLENGTH == 15) { "
    "y = substr($0, 1, RLENGTH - 11); t = substr($0, RLENGTH - 10); if (RLENGTH == 13) y = (y < 50 ? 20 : 19) y; "
    'printf "not%s=%s %2d %s:%s:%s %s GMT\\n", n++ ? "After" : "Before", '
    'substr("JanFebMarAprMayJunJulAugSepOctNovDec", substr(t, 1, 2) * 3 - 2, 3), substr(t, 3, 2), '
    'substr(t, 5, 2), substr(t, 7, 2), substr(t, 9, 2), y } END { if (n < 2) print "no dates" }'
)
_DATES = f"awk '{_FIRST_ONLY}' \"$f\" | base64 -d 2>/dev/null | tr -c 0-9Z '\\n' | awk '{_AS_OPENSSL}'"
# The port shows its certificate to any user; no request is sent.
_LOOK = fragment(f"""
    echo "now $(date -u +%s)";
    if [ -d {_KUBELET} ] || [ -d {_RANCHER} ]; then
        echo kubelet;
        o=; command -v openssl >/dev/null && o=y;
        [ $o ] || command -v base64 >/dev/null || {{ echo 'no openssl'; exit; }};
        for d in {_KUBELET} {_KUBELET}/pki {_RANCHER} {_RANCHER}/*/agent; do
            [ -d "$d" ] && [ ! -x "$d" ] && echo "==> $d <==" && echo hidden; done;
        for f in {" ".join(_FILES)}; do
            [ -e "$f" ] || continue;
            [ $o ] || [ "${{f##*/}}" != kubelet.crt ] || continue;
            echo "==> $f <==";
            if [ ! -r "$f" ]; then echo hidden; elif [ $o ]; then {_SHOW} -in "$f" 2>&1; else {_DATES}; fi; done;
        echo '==> /served <==';
        if [ $o ]; then
            s=$(timeout -k 1 3 openssl s_client -connect 127.0.0.1:10250 </dev/null 2>/dev/null);
            case $? in 124|137) echo silent;; *) echo "$s" | {_SHOW} 2>/dev/null;; esac; fi;
    fi;
    echo '{END}'
""")
_NOW = re.compile(r"now ([0-9]{9,11})")
_DATE = re.compile(rf"(notBefore|notAfter)=({DATE}) GMT")
_NAME = re.compile(r"(subject|issuer) ?= ?(.*)")
# The kubelet signs its own certificate with a CA made only for that: HOST-ca@SECONDS for HOST@SECONDS (client-go).
_KUBELETS_OWN = re.compile(r"CN ?= ?(\S{1,253})@[0-9]{6,12}\nCN ?= ?(\S{1,253})-ca@[0-9]{6,12}")


def parse(outputs: Outputs) -> CertificatesReading:
    """Read the validity of each certificate, and which files are hidden.

    Unread when: the answer is cut short, a kubelet exists but neither openssl nor base64 does, or a certificate is
    malformed.
    """
    text = outputs.text("look")
    lines = text.rstrip("\n").split("\n")
    if lines[-1] == "no openssl":
        raise CannotRead("certificates: there is a kubelet, and openssl and base64 are missing")
    now = _NOW.fullmatch(lines[0])
    if lines[-1] != END or now is None:
        raise CannotRead("certificates: the answer is cut short")
    files = sections("\n".join(lines[:-1]))
    hidden = tuple(one_line(path, 200) for path, said in files.items() if said == ("hidden",))
    certificates = tuple(_certificates(files))
    return CertificatesReading(
        datetime.fromtimestamp(int(now.group(1)), UTC),
        "kubelet" in lines[1:2],
        certificates,
        hidden,
        files.get("/served") == ("silent",),
    )


def _certificates(files: dict[str, tuple[str, ...]]) -> Iterator[Certificate]:
    for path, said in files.items():
        if said in ((), ("hidden",), ("silent",)):
            continue
        told = (found for line in said if (found := _DATE.fullmatch(line.strip())))
        dates = {found.group(1): _instant(found.group(2)) for found in told}
        if len(dates) != 2 or dates["notBefore"] >= dates["notAfter"]:
            raise CannotRead(f"certificates: {one_line(path, 80)} is malformed ({one_line(' '.join(said), 60)})")
        names = {found.group(1): found.group(2).strip() for line in said if (found := _NAME.match(line))}
        subject, issuer = names.get("subject", ""), names.get("issuer", "")
        made = _KUBELETS_OWN.fullmatch(f"{subject}\n{issuer}")
        own = bool(issuer) and (issuer == subject or (made is not None and made.group(1) == made.group(2)))
        lines = tuple(one_line(line, 200) for line in said[:4])
        yield Certificate(one_line(path, 200), dates["notBefore"], dates["notAfter"], own, lines)


def _instant(date: str) -> datetime:
    read = instant(date)
    if read is None:
        raise CannotRead(f"certificates: {date} is not a date")
    return read


PROBE = Probe(
    name="certificates",
    title="the kubelet's certificates",
    commands=(Command("look", ("sh", "-c", _LOOK), lane="services", output_limit_bytes=32 * 1024),),
    parse=parse,
    reading=CertificatesReading,
)
