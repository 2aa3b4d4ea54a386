"""What a name speaks of, and what only a machine writes."""

import base64
import random
import string

import pytest

from bot.domain.builtin_playbooks import builtin_rows
from bot.domain.safe_text import redacted_text
from bot.domain.secret_names import KEY, OTHER, PASSWORD, Names, machine_made

NAMES = Names(builtin_rows("secrets")["names"])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(
            (name, PASSWORD)
            for name in ("dbPassword", "PGPASSWORD", "root_pw", "MOT_DE_PASSE", "keyStorePassword", "tlsPSK")
        ),
        *((name, KEY) for name in ("api-key", "SecretKey", "X-Vault-Token", "bindCredentials", "SECRET_KEY_BASE")),
        *((name, OTHER) for name in ("FLEET_BOOT_KEY", "tokens", "licenseKeys")),
        *(
            (name, "")
            for name in ("password_file", "key", "public_key", "partition-key", "irqbypass", "CSR_OTP_GP_REG")
        ),
        *((name, "") for name in ("max_tokens", "secretName", "token_ttl", "monkey", "NOPASSWD", "existingSecret")),
    ],
)
def test_name_speaks_of_a_secret_by_its_words(name: str, kind: str) -> None:
    assert NAMES.kind(name) == kind


def test_names_are_found_where_they_stand() -> None:
    text = r"x --db-password y \nTOKEN=z İ api_key"
    found = [(text[name.begin : name.end], name.kind) for name in NAMES.found(text, text.lower())]
    assert found == [("db-password", PASSWORD), ("TOKEN", KEY), ("api_key", KEY)]
    assert NAMES.found("EXT4-fs (nvme0n1p1): mounted", "ext4-fs (nvme0n1p1): mounted") == []


def test_value_is_cut_whatever_its_form_by_any_name_that_speaks_of_a_secret() -> None:
    for name in ("ACME_PASSWORT", "acmeClientSecret", "acme.api-token", "Acme_Passphrase"):
        for value in ("hunter2", "plain", "a/b+c=d", "x:4,9;x"):
            assert redacted_text(f"{name}={value}") == f"{name}=[redacted]"


def test_what_only_a_machine_writes_is_found_wherever_it_stands() -> None:
    chance = random.Random(4)
    letters = string.ascii_letters + string.digits
    words = ["".join(chance.choices(letters, k=40)) for _ in range(200)]
    words += [base64.b64encode(chance.randbytes(36)).decode() for _ in range(200)]
    found = [word for word in words if "[redacted]" in redacted_text(f"upstream sent {word} twice")]
    assert len(found) >= 0.9 * len(words)


@pytest.mark.parametrize(
    "text",
    [
        "GPU-9c908b7d-9b84-fd7f-9592-921dde54a7a8 fell off the bus",
        "LVM PV 3klkIj-w1qk-DkJi-0XBJ-y3o7-i2Ac-vHqWBM on /dev/sdb",
        "ED25519 SHA256:8RNKsj8IBf/+CvYXjeL3uSdpWGsa+nDqXnuFJN2Gx1Z",
        'hash "d3YN7OD60Ggqc9hClW0/al6tlFEshidDnQKzZRRk410="',
        'parent-hash "Y1kBdG1uWQr5CjULQs7uh2F6pHgFb6VDHcWLk83v+tE=" via-port "1-2"',
        "_PyDict_GetItem_KnownHash+0x8 _ZN5boost6python7objects23caller_py_function_implE",
        "Installed: perl-TermReadKey-2.30-20.el7.x86_64",
        "Lustre: cpu238-OST6937-osc-0e57f2c2c041671c: Connection restored",
        "dev-disk-by\\x2did-dm\\x2duuid\\x2dLVM\\x2deP73apHGoZ6LcvX230L0BUHQiPDhXceEkTtrOvL6P2biOWacMR3YS7rISVOgnPdc.swap",
        "NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)",
        "model Qwen2.5-72B-Instruct-GPTQ-Int4 on node-7",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ],
)
def test_what_says_what_it_is_stays(text: str) -> None:
    assert machine_made(text) == []
    assert redacted_text(text) == text
