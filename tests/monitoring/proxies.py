"""The TLS proxies of `deploy/`, as programs on a port of loopback before a bot on another."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.conftest import missing

ROOT = Path(__file__).parents[2]
HOST = "zombie.example.com"


def certificate(folder: Path) -> tuple[Path, Path]:
    made, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={HOST}"]
    command += ["-addext", f"subjectAltName=DNS:{HOST}", "-out", str(made), "-keyout", str(key)]
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    return made, key


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    """The file with these words for others; each of them must be in it."""
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    return text


def nginx(folder: Path, port: int, behind: int, made: Path, key: Path) -> list[str]:
    program = shutil.which("nginx") or missing("nginx is not installed (Debian: apt install nginx-light)")
    server = replaced(
        (ROOT / "deploy/nginx.conf").read_text(),
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("127.0.0.1:8080", f"127.0.0.1:{behind}"),
        (f"/etc/letsencrypt/live/{HOST}/fullchain.pem", str(made)),
        (f"/etc/letsencrypt/live/{HOST}/privkey.pem", str(key)),
    )
    folders = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if folder.owner() == "root" else ""
    file = folder / "nginx.conf"
    file.write_text(
        f"{user}daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{folders}{server}}}\n"
    )
    return [program, "-e", str(folder / "error.log"), "-c", str(file)]


def caddy(folder: Path, port: int, behind: int, made: Path, key: Path) -> list[str]:
    program = shutil.which("caddy") or missing("caddy is not installed (Debian: apt install caddy)")
    text = replaced(
        (ROOT / "deploy/Caddyfile").read_text(),
        (f"{HOST} {{", f"https://{HOST}:{port} {{\n\ttls {made} {key}\n\tbind 127.0.0.1"),
        ("127.0.0.1:8080", f"127.0.0.1:{behind}"),
    )
    file = folder / "Caddyfile"
    file.write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    return [program, "run", "--adapter", "caddyfile", "--config", str(file)]
