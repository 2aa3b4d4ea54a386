"""Every row of the table of secrets: what it has seen goes whole, what it never takes stays, and time is linear."""

import json
import random
import re
import time
import tomllib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bot.domain.safe_text import decode, redacted, redacted_text, safe
from bot.domain.secret_columns import Walked
from bot.domain.secret_forms import searchable, table

ROWS: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parents[3] / "playbooks/tables/secrets.toml").read_text("utf-8")
)
for head in ("parts", "names", "commands"):
    ROWS.pop(head)
SEEN = [(name, seen.replace("·", "")) for name, row in ROWS.items() for seen in row["seen"]]
NEVER = {name: row["never"] for name, row in ROWS.items() if row.get("never")}
FORMS = {form.name: form for form in table().forms}


def plain(seen: str) -> str:
    """Return a text without the signs around its secrets."""
    return re.sub("[«»]", "", seen)


# But forms of a line's beginning and of several lines.
NOT_IN_LINES = ("line", "word", "redis-line", "pair", "whole-line", "two-words", "row")


@pytest.mark.parametrize("name", ROWS)
def test_all_of_a_secret_goes_and_nothing_else_also_in_the_middle_of_a_line_of_a_log(name: str) -> None:
    for seen in (seen for row, seen in SEEN if row == name):
        text = plain(seen)
        stays = map(re.escape, re.split("«[^»]*»", seen))
        cut = redacted_text(text)
        assert re.fullmatch(r"(?:\\{0,3}\")?\[redacted[^\]]*\](?:\\{0,3}\")?".join(stays), cut, re.DOTALL), cut
        assert redacted_text(cut) == cut, "once is enough"
        view = searchable(text)
        assert FORMS[name].cut(view) != view, f"the row itself finds it: {seen}"
        if "\n" not in seen and name not in NOT_IN_LINES:
            cut = redacted_text(f"Nov 23 10:00:00 node-1 agent[412]: {text}")
            assert [secret for secret in re.findall("«([^»]*)»", seen) if secret in cut] == []


@pytest.mark.parametrize("name", NEVER)
def test_what_only_looks_like_a_secret_stays(name: str) -> None:
    for never in NEVER[name]:
        assert redacted_text(never) == never


# What may be a user's name and is known by its form.
TOKENS = ("AKIA" + "IOSFODNN7EXAMPLE", "glpat-" + "abcdefghij0123456789", "SK" + "0123456789abcdef" * 2)
USER = re.compile(r"(?<![\w.@-])(?:ann|bob|bot|root|scott|system)(?=(?:%3A|[^\w\n@.-]+)«)")
WITH_USER = [seen for name, seen in SEEN if USER.search(seen) and name not in ("shadow", "cloud-init")]  # accounts


@pytest.mark.parametrize("token", TOKENS)
def test_token_in_the_place_of_a_user_hides_no_password(token: str) -> None:
    for seen in WITH_USER:
        cut = redacted_text(plain(USER.sub(token, seen)))
        assert [secret for secret in re.findall("«([^»]*)»", seen) if secret in cut] == [], cut
        assert redacted_text(cut) == cut
    assert len(WITH_USER) > 80


def test_each_row_says_what_it_needs_and_no_other() -> None:
    known = {
        "has",
        "starts",
        "long",
        "options",
        "kinds",
        "before",
        "after",
        "rule",
        "form",
        "says",
        "decode",
        "block",
        "lines",
    }
    known |= {"seen", "never"}
    for name, row in ROWS.items():
        assert row.keys() <= known, name
        assert row["seen"], name
        assert any(map(row.get, ("has", "starts", "long", "options", "kinds"))), (
            f"{name} would be searched in every text"
        )
        assert all("«" in seen for seen in row["seen"]), name


def pieces(seen: str) -> list[str]:
    """Return beginnings of a text, and the text: what a hostile node might repeat without end."""
    text = plain(seen)
    return [*{text[:end] for end in (len(text) // 4, len(text) // 2, len(text) - 2) if end > 0}, text + " ", text]


LENGTHS = pytest.mark.parametrize("characters", [8_192, pytest.param(16_384, marks=pytest.mark.long)])


def check_growth(searched: Callable[[str], object], piece: str, characters: int) -> None:
    """Four times the length of pieces takes about four times the time; what is quadratic takes sixteen times."""

    def cost(characters: int, search: Callable[[str], object] = searched, piece: str = piece) -> float:
        text = (piece * (characters // len(piece) + 1))[:characters]
        began = time.process_time()
        search(text)
        return time.process_time() - began

    def is_flat(long: float) -> bool:
        return long < characters * 4e-6 or long < 12 * cost(characters // 4) + characters * 3e-6

    long = cost(characters)
    assert is_flat(long) or is_flat(cost(characters)), f"{piece}, also where nothing else disturbs it"
    # On a slower machine, by what a usual one costs there: 7 µs a character where this is 60.
    assert long < characters * 6e-5 or cost(characters) < 60 / 7 * cost(characters, redacted_text, "mysql -p"), piece


@pytest.mark.slow
@LENGTHS
@pytest.mark.parametrize("name", ROWS)
def test_hostile_lines_cost_time_in_proportion_to_their_length(name: str, characters: int) -> None:
    for piece in pieces(ROWS[name]["seen"][0].replace("·", "")):
        check_growth(FORMS[name].cut, piece, characters)


LINES = (
    "kernel: EXT4-fs (nvme0n1p1): error count since last fsck: 4",
    "kernel: RIP: 0010:asm_sysvec_apic_timer_interrupt+0x16/0x20 ffffffffa0c01f2b",
    "pci 0000:00:05.0: [8086:1533] type 00 class 0x020000",
    "image registry.example/agent@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "systemd[1]: machine-id 0123456789abcdef0123456789abcdef, boot 01234567-89ab-cdef-0123-456789abcdef",
    "commit " + "0123456789" * 4 + " of main",
    "eth0: 0a:1b:2c:3d:4e:5f fe80::81b:2cff:fe3d:4e5f/64",
    "sshd[4]: Accepted publickey from 10.0.0.9 port 4 ssh2: ED25519 SHA256:fakeFAKE0123456789fakeFAKE0123456789fakeFAK",
    "systemd-cryptsetup@home.service: Deactivated successfully.",
    "Started systemd-ask-password-console.path - Dispatch Password Requests to Console Directory Watch.",
    "/kubepods.slice/kubepods-burstable.slice/cri-containerd-0123456789abcdef0123456789abcdef.scope",
    'FATAL: password authentication failed for user "bot"',
    "qemu-system-x86_64 --passthrough -device vfio-pci,host=0000:3b:00.0",
    "sshd(pam_unix)[412]: check pass; user unknown",
    "sshd(pam_unix)[412]: authentication failure; logname= uid=0 euid=0 tty=NODEVssh ruser= rhost=10.0.0.9",
    "sshd[412]: Failed password for invalid user admin from 10.0.0.9 port 51234 ssh2",
    "ResourceManager: Adding job token for job_1445144423722_0020 to jobTokenSecretManager",
)


@pytest.mark.parametrize("line", LINES)
def test_what_an_engineer_needs_stays(line: str) -> None:
    assert redacted_text(line) == line


def test_what_an_engineer_needs_stays_whatever_stands_around_it() -> None:
    """No line is the head, or the block, of the next."""
    chance = random.Random(6)
    for _ in range(200):
        text = "\n".join(chance.choices(LINES, k=12))
        assert redacted_text(text) == text


KEY = ["MIIEow" + "IBAAKCAQEA" + "Fake0123" * 6, "Fake+/01" * 8, "Fa01==", "-----END RSA PRIVATE " + "KEY-----"]


@pytest.mark.parametrize("before", ["", "Nov 23 10:00:00 node-1 agent[412]: "])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_key_without_its_beginning_or_its_end_is_taken_out(before: str, first: int) -> None:
    lines = ["agent started", *(before + line for line in KEY[first:]), "x"]
    for kept in (redacted(lines), redacted_text("\n".join(lines)).split("\n")):
        assert kept == ["agent started", *[f"{before}[redacted: private key]"] * (len(KEY) - first), "x"]
    assert redacted(redacted(lines)) == redacted(lines)
    assert "Fake" not in redacted_text("\n".join(KEY[:2]))
    assert "Fa" not in redacted_text("\\n".join(KEY[1:]))
    assert "Fa" not in redacted_text(" ".join(KEY[1:]))


NAMED_VALUES = {
    "app/secret": "f00dcafe" * 8,
    "password": 'a"b\\c',
    "token": 12345678,
    "db_password": "two words",
    "jwt": -1,
    "secret": {"a": "x"},
    "api_key": ["x", "y"],
    "secrets": [],
    "passphrase": "",
    "pwd": None,
    "client_secret": True,
    "X-Vault-Token": ["fake"],
    "Authorization": 'Digest username="a", response="b"',
    "note": "password=hunter2}",
    "name": "DB_PASSWORD",
    "value": "x",
}


def with_secrets(value: object) -> Iterator[object]:
    """Return a JSON value again and again, each time with such names in another of its mappings."""
    if isinstance(value, dict):
        yield {**value, **NAMED_VALUES}
        yield {**NAMED_VALUES, **value}
        places: list[tuple[object, object]] = list(value.items())
    else:
        places = list(enumerate(value)) if isinstance(value, list) else []
    for at, held in places[:4]:
        for changed in with_secrets(held):
            if isinstance(value, dict):
                yield {**value, at: changed}
            elif isinstance(value, list):
                yield [changed if number == at else other for number, other in enumerate(value)]


def documents() -> Iterator[tuple[str, object]]:
    for path in sorted((Path(__file__).parents[2] / "captures").rglob("*")):
        if path.suffix in (".json", ".out") and path.stat().st_size < 20_000:
            try:
                yield path.name, json.loads(path.read_text("utf-8", errors="replace"))
            except ValueError:
                continue


WRITINGS: tuple[dict[str, Any], ...] = ({}, {"indent": 2}, {"separators": (",", ":")})


@pytest.mark.slow
@pytest.mark.parametrize(("places", "writings"), [(1, 1), pytest.param(6, 3, marks=pytest.mark.long)])
def test_json_stays_json(places: int, writings: int) -> None:
    """Each document is changed in one place and written in one way, others for each, or in each of six and three."""
    count = 0
    for number, (name, document) in enumerate(documents()):
        every = list(islice(with_secrets(document), 6))
        for changed in [every[(number + at) % len(every)] for at in range(places)] if every else ():
            for at in range(writings):
                text = json.dumps(changed, **WRITINGS[(number + at) % len(WRITINGS)])
                kept = redacted_text(text)
                assert "f00dcafe" not in kept, name
                json.loads(kept)
                assert redacted_text(kept) == kept, name
                inner = redacted_text(json.dumps({"log": text}))
                json.loads(json.loads(inner)["log"])
                count += 1
    assert count > 50, "the captures hold JSON"


# The units of which a hostile node might make a text of any length.
UNITS = (
    *("%3a%2f%2f", "%3a%2f%2f%3a", "%3a%2f%2fa%3a", "://", "://:", "http://a:", "curl ", "curl -b a=", "curl -u a:"),
    *("token=https://", "password: a", "secret: a-b-", "password=a.b(", '":', '":1', "token: [", '["', '{"password":'),
    *("AAAAAAAAAAAAAAAA ", "AAAAAAAAAAAAAAAA\n", KEY[-1] + "\n", "\\x1b[", "\\u200b", "\u00a0", "redis://:a", "DSN=a:"),
    *("7z ", "snmpget -A ", "mysql -", "<password ", "'\"", "password=a,", "a.b.c.", "passphrase=a ", "'", "\\", "a@"),
    *(
        "secret.a.",
        "password {",
        "<name>password</name>",
        "wandb login -a b ",
        "ab-Qz7b3",
        "eyJaaaaaaaa.",
        'password: ")',
        "my_pass:",
        "+ ls.",
        "token passwords:\n- ",
        "secrets:\n  ",
        "stringData:\n  tokens: {a: b, ",
    ),
    *("password", "-eyJaaaaaaaa", "://a:", "://a@", "token=", 'password="', "password: |\n ", "bearer ", "--", "PWD="),
    *("mysql ", "mysql -p", "redis-cli -a ", "sshpass -p", "cookie: ", "authorization: digest "),
    *("name: x_password ", "name=password,value ", "R", "u+", "$1$", "&sig=", "sk-", "pass_", "xoxb-", "[redacted"),
    *("AKIAIOSFODNN7EXAMPLE,", "LS0tLS1CRUdJTi", "-----BEGIN PRIVATE " + "KEY-----", "\n", " "),
)


@pytest.mark.slow
@LENGTHS
@pytest.mark.parametrize("unit", UNITS)
def test_text_of_one_unit_costs_little(unit: str, characters: int) -> None:
    def searched(text: str) -> None:
        assert len(redacted_text(text)) <= 4 * len(text)

    check_growth(searched, unit, characters)


def test_strings_within_strings_cost_little_however_deep_they_are() -> None:
    text = "password=hunter2Xx9"
    for _ in range(120):
        text = r'"\n x ' + text.replace("\\", r"\u005c").replace('"', r"\u0022")
    began = time.process_time()
    redacted_text(text)
    assert time.process_time() - began < 2


def test_blocks_within_blocks_are_walked_once_and_keep_their_cuts() -> None:
    text = "passwords:\n- hunter2zz\n- " * 1000
    walked = Walked(text)
    ends = [found.end() - 1 for found in re.finditer("passwords:", text)]
    places = [(begin, end) for at in ends for _, begin, end in walked.values(text, at)]
    assert len(places) == len({*places}) == 1999, "each of 1000 values, and what follows a dash, once"
    assert "hunter2" not in redacted_text(text)


@pytest.mark.parametrize("sign", ["\\x1b[1m", "\\u200b", "\\xad", "\x1b[1m", "\u200b"])
def test_any_number_of_signs_within_a_word_costs_little(sign: str) -> None:
    began = time.process_time()
    assert redacted_text(f"a{sign * 30_000}b password=hunter2") == f"a{sign * 30_000}b password=[redacted]"
    assert time.process_time() - began < 3


def test_colours_and_signs_without_width_hide_no_secret() -> None:
    for raw in (b"\x1b[1mtoken\x1b[0m=abc0123", b"password\xe2\x80\x8e=abc0123", b"password\xc2\xa0=\xc2\xa0abc0123"):
        assert "abc0123" not in redacted_text(decode(raw))
        assert "abc0123" not in redacted_text(raw.decode())
    assert "abc0123" not in redacted_text("password\r = abc0123")
    for within in (
        "password=abc\\x1b[1m0123",
        "password=abc\u200b0123",
        "password=abc\\u200b0123",
        "password=abc\\xad0123",
    ):
        assert redacted_text(within) == "password=[redacted]"
    assert "abc0123" not in redacted_text("password\u2800=\u2800abc0123")


@pytest.mark.parametrize("sign", ["\x1b[01;31m\x1b[K", "\\x1b[m\\x1b[K", "\u200b", "\\u200b", "\\xad"])
def test_colours_and_signs_without_width_within_a_name_or_a_key_hide_no_secret(sign: str) -> None:
    """As `grep --color=always pass` prints `db_password=…`, and what follows a cut stays."""
    for text, cut in (
        (f"db_{sign}pass{sign}word=hunter2zz -h db", f"db_{sign}pass{sign}word=[redacted] -h db"),
        (f"id AKIA{sign}IOSFODNN7EXAMPLE next", "id [redacted: AWS key] next"),
        (f"key=sk_live_4eC39HqLy{sign}jWDarjtT1zdp7dc next", "key=[redacted: token] next"),
    ):
        assert redacted_text(text) == cut
        assert redacted_text(cut) == cut
    assert redacted_text(f"node{sign}-1 is up{sign}to date") == f"node{sign}-1 is up{sign}to date"


def test_what_has_no_width_is_seen() -> None:
    assert safe("kubelet\u200b.service \u00ad\u3164\U000e0041") == "kubelet\\u200b.service \\xad\\u3164\\U000e0041"
    for hidden in ("\uffa0", "\u17b4", "\u180b", "\ufe01", "\U0001d173", "\U000e0100", "\U000e0fff"):
        assert safe(f"kubelet{hidden}.service") == f"kubelet{ascii(hidden)[1:-1]}.service"
    assert safe("a\ufe0fb ⚠️ 1️⃣ ⚠️\ufe0e\ufe0f") == "a\\ufe0fb ⚠️ 1️⃣ ⚠️\\ufe0e\\ufe0f", "an emoji has one selector"
    assert safe("caf\u00e9\ufe0f 日本\ufe0e ©\ufe0f") == "caf\u00e9\\ufe0f 日本\\ufe0e ©\ufe0f", "and a letter has none"
    assert safe("ecs\uffff.\ufffe") == r"ecs\uffff.\ufffe", "which no XML may hold"
    assert safe("é 🔥 日本 µs …") == "é 🔥 日本 µs …"


@pytest.mark.parametrize(
    "words",
    [
        "rabbitmqctl add_user ann hunter2",
        "/usr/bin/mc alias set s3 https://minio ann hunter2",
        "zerotier-cli set secret 0a1b2c3d4e:0:fake01",
        "wpa_passphrase home hunter2",
    ],
)
def test_list_of_a_program_and_its_words_is_a_command_line_without_an_option_too(words: str) -> None:
    assert redacted(words.split())[-1] == "[redacted]"
    assert redacted(["agent", *words.split()[1:]]) == ["agent", *words.split()[1:]], "a list of other words"


def test_account_in_the_line_after_its_head_in_a_list_of_lines_goes_whole() -> None:
    said = ["cloud-init[4]: Set the following 'random' passwords", "ubuntu:hunter2", "x"]
    assert redacted(said) == [said[0], "[redacted]", "x"]


@pytest.mark.parametrize(
    "value",
    [
        {"auths": {"r.example": {"auth": "ZmFrZTpmYWtl"}}},
        {"Authorization": "Basic ZmFrZTpmYWtl"},
        {"Authorization": ["Basic ZmFrZTpmYWtl"]},
        {"Cookie": "sid=fake"},
        {"secret_key_base": "fake01"},
        {"passwords": {"ann": "fake01", "bob": "two words", "minLength": 8}},
        {"secrets": {"db": "fake-01x", "file": "x", "n": 4}},
        {"credentials": {"user": "ann", "value": "fake-01x"}},
        {"outputs": {"db_password": {"type": "string", "value": "fake01"}}},
        {"Key": "db_password", "Value": "fake01"},
        {"title": "Password", "value": "fake01"},
        {"label": "password", "value": "two words"},
        {"password": {"current": "Fake01fakefake", "policy": "strict", "days": 4}},
        {"tokens": {"ci": "Fake01fakefake", "model": "Qwen2.5-72B-Instruct"}},
        {"secret": {"secretName": "web-tls-2", "items": [{"key": "a", "path": "b"}]}},
        {"id": "payments-secret", "data": "3 pods OOMKilled on gpu17"},
        {"title": "Service account token", "value": "expired on gpu17"},
        {"id": "cookie-jar", "name": "db_password", "value": "fake01"},
        {"ParameterKey": "DBPassword", "ParameterValue": "fake01"},
        {"secrets": {"db": "calvin", "enabled": True}},
        {"apiKey": {"key": "Fake01fakefake", "default": "x"}, "secret": {"key": "tls-1.crt"}},
        {"event": "rotate", "secret": {"mount": "kv-prod2", "node": "gpu-node-017", "reason": "disk full"}},
        {"secrets": ["grafana-admin-7k2m4t6h9b", "hunter2Qz", "01234567-89ab-cdef-0123-456789abcdef"]},
        {"apiKeys": ["Fake01fakefake", "x"], "tokens": {"ci": "01234567-89ab-cdef-0123-456789abcdef", "model": "x"}},
        {
            "unseal_keys_hex": ["f00dcafe" * 4, "cafe0123" * 4],
            "keys": ["01234567cafe" * 3],
            "stop_tokens": ["The", "a"],
        },
        {"columns": ["user", "password"], "rows": [["ann", "fake01"], ["bob", "two words"]]},
        {"auth": "kubernetes", "session": {"id": "4"}, "token_ttl": "1h", "tokens": {"default": 5}},
        {"password.encoder.cipher.algorithm": "AES/CBC/PKCS5Padding"},
    ],
)
def test_parsed_value_and_its_text_are_read_alike(value: dict[str, Any]) -> None:
    assert redacted(value) == json.loads(redacted_text(json.dumps(value)))


BLOCK = ["-----BEGIN PRIVATE " + "KEY-----", "Fake+/01" * 8, "Fake+/01" * 8, "-----END PRIVATE " + "KEY-----", "x"]


@pytest.mark.parametrize(
    "rows",
    [
        [{"time": "03:14", "message": line} for line in BLOCK],
        [["03:14", line] for line in BLOCK],
        [{"row": {"fields": {"message": line, "n": 4}}} for line in BLOCK],
        [[4, {"message": line}] for line in BLOCK],
        [{"m": line} for line in ("kind: Secret", "data:", "  a: Fake+/01", "x: y")],
        [{"m": line} for line in ("Use the following password to go on:", "", "Fake+/01Fake+/01", "x")],
    ],
)
def test_secret_of_several_lines_is_found_in_rows(rows: list[Any]) -> None:
    kept = redacted({"rows": rows})["rows"]
    assert "Fake" not in json.dumps(kept)
    assert kept[-1] == rows[-1], "what comes after it stays"
    assert redacted(kept) == kept


def test_secret_of_several_lines_is_found_in_a_list_of_lines() -> None:
    for name, row in ROWS.items():
        for seen in row["seen"] if row.get("block") else ():
            kept = redacted(plain(seen).split("\n"))
            for secret in re.findall("«([^»]*)»", seen):
                assert [line for line in secret.split("\n") if len(line) > 8 and line in kept] == [], name


def test_data_of_a_secret_and_private_parts_of_a_key_are_found_in_parsed_values() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "ZmFrZQ=="}, "stringData": {"b": "fake"}}
    hidden = {**secret, "data": {"a": "[redacted]"}, "stringData": {"b": "[redacted]"}}
    assert redacted({"items": [secret]}) == {"items": [hidden]}
    assert redacted({"kind": "ConfigMap", "data": {"a": "x"}}) == {"kind": "ConfigMap", "data": {"a": "x"}}
    assert redacted({"kty": "EC", "x": "fake0", "d": "fake1"}) == {"kty": "EC", "x": "fake0", "d": "[redacted]"}


@pytest.mark.parametrize("seen_in", [(1, 2), pytest.param((2, 1), marks=pytest.mark.long)])
def test_secret_is_found_in_the_text_of_a_line_of_json(seen_in: tuple[int, int]) -> None:
    """In one line or in a line of a line, each secret in one of them; the long run changes about."""
    for number, (_, seen) in enumerate(SEEN):
        depth, text = seen_in[number % 2], f"{plain(seen)}\n"
        if (cut := redacted_text(text)) == text:
            continue
        for _ in range(depth):
            text = json.dumps({"log": text, "gpu": 3}, ensure_ascii=False)
        kept = shown = redacted_text(text)
        for _ in range(depth):
            shown = json.loads(shown)["log"]
        assert [secret for secret in re.findall("«([^»]*)»", seen) if secret in shown and secret not in cut] == []
        assert len(shown) > 0.7 * len(cut), "what stands around it stays"
        assert redacted_text(kept) == kept


def test_cut_in_a_string_of_json_ends_with_it_at_the_latest() -> None:
    """Also the words of a command that stands in it."""
    fault = {"err": "Xid 79 fell off the bus", "gpu": 3}
    for _, seen in SEEN:
        said = json.loads(redacted_text(json.dumps({"log": plain(seen), **fault})))
        assert said == {"log": said["log"], **fault}


def test_what_stays_of_a_line_of_json_is_as_it_was() -> None:
    for text in (
        r'{"log":"env:\n- name: DB_PASSWORD\n  value: «hunter2»\n","at":"C:\new \u003cb\u003e"}',
        r'level=error err="exec [\"rabbitmqctl\", \"add_user\", \"bot\", \"«hunter2»\"] failed" n=4',
        r'{"log":"{\"msg\":\"client.setPassword(\\\"«hunter2»\\\")\"}\n","stream":"stderr"}',
        r'{"msg":"bean <property name=\"password\">«hunter2»</property> \u00e9"}',
        r'{"msg":"{\"auth\":{\"password\":«12345»}}"}',
        r'{"password":"«two \"words\" here»","msg":"a \"b\""}',
        r'{"msg":"\u001b[31mredis-cli -a «hunter2»\u001b[0m","err":"Xid 79"}',
        r'{"msg":"AUTH default «hunter2»\r","err":"Xid 79"}',
        r'{"msg":"xfreerdp \/u:ann \/p:«hunter2» \/v:h","err":"Xid 79"}',
    ):
        kept = redacted_text(plain(text))
        stays = map(re.escape, re.split("«[^»]*»", text))
        assert re.fullmatch(r'(?:\\{0,3}")?\[redacted\](?:\\{0,3}")?'.join(stays), kept), kept


WRITTEN = {
    "JSON": lambda sign: f"\\u{ord(sign):04x}",
    "JavaScript": lambda sign: f"\\x{ord(sign):02x}",
    "markup": lambda sign: f"&#x{ord(sign):x};",
}


@pytest.mark.parametrize("form", WRITTEN)
def test_secret_is_found_where_the_signs_around_it_are_escaped(form: str) -> None:
    signs = re.compile("[\"'<>&:=]" if form == "markup" else "[\"'<>&:=/@]")
    left = []
    for _, seen in SEEN:
        cut = redacted_text(signs.sub(lambda found: WRITTEN[form](found[0]), plain(seen)))
        assert redacted_text(cut) == cut
        secrets = [secret for secret in re.findall("«([^»]*)»", seen) if len(secret) > 1 and not signs.search(secret)]
        left += [seen for secret in secrets if secret in cut]
    assert left == []


def test_what_is_left_of_an_escaped_text_is_as_it_was() -> None:
    for text in (
        r'{"a":"{\u0022password\u0022:\u0022«hunter2»\u0022,\u0022b\u0022:1}"}',
        r'"url":"jdbc:mysql://db/x?user\u003dbot\u0026password\u003d«hunter2»"',
        "&lt;password&gt;«hunter2»&lt;/password&gt; &amp; more",
        "go=https%253A%252F%252Fbot%253A«hunter2»%2540db%252Fx",
        r"\u003cpassword\u003e«hunter2»\u003c/password\u003e \u003cuser\u003eann",
    ):
        assert redacted_text(plain(text)) == re.sub("«[^»]*»", "[redacted]", text)
    assert (
        json.loads(redacted_text(r'{"a":"{\u0022password\u0022:\u0022x y\u0022}"}'))["a"] == '{"password":"[redacted]"}'
    )


@pytest.mark.parametrize("sign", " \"'<>&=:/@-")
def test_sign_that_is_escaped_within_a_value_does_not_end_it(sign: str) -> None:
    for written in (rf"\x{ord(sign):02x}", rf"\u{ord(sign):04x}", f"%25{ord(sign):02X}"):
        assert redacted_text(f"Environment=DB_PASSWORD=hunter{written}two x") == "Environment=DB_PASSWORD=[redacted] x"


@pytest.mark.parametrize("quote", ["'\"'\"'", r"'\''", r"\'", "'", r"\x27", r"\u0027"])
def test_value_within_another_text_s_quotes_goes_whole(quote: str) -> None:
    for value in ("hunter2", "two words", "a;b", 'a"b"'):
        for name in ("--api-token=", "--password ", "DB_PASSWORD="):
            cut = redacted_text(f"EXEC /bin/sh -c 'app {name}{quote}{value}{quote} --user ann'")
            assert value not in cut
            assert cut.endswith(" --user ann'")
            assert redacted_text(cut) == cut


def test_json_stays_json_and_shows_no_secret_however_it_is_written() -> None:
    chance = random.Random(5)
    tails = ("", "&x", "<b>", "'q'", "=z", "/w", " two", "é", '"dq"', r"\bs")
    writers: list[Callable[[str], str]] = [
        str,
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: re.sub("[<>&='/]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text)),
        lambda text: json.dumps(text.replace(r"\"", r"\u0022")).replace(r"\"", r"\u0022"),
    ]
    for _ in range(120):
        said = {name: f"hunter2{chance.choice(tails)}" for name in ("db_password", "apiToken", "clientSecret")}
        said |= {"user": f"ann{chance.choice(tails)}", "url": "postgres://ann:hunter2@db/x?a=1&b=2"}
        cut = redacted_text(chance.choice(writers)(json.dumps(said, indent=chance.choice([None, 1]))))
        assert "hunter2" not in cut
        found = json.loads(cut)
        found = json.loads(found) if isinstance(found, str) else found
        assert (found["user"], found["db_password"]) == (said["user"], "[redacted]")
