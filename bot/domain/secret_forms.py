"""Patterns of secrets: keys, tokens and passwords, and the names that a secret follows.

A secret is recognised by its own form (an AWS key, a Slack token, a private key block) or by the name before it
(`password = …`, `--token …`, a mapping's `secret`). Digests, ids, unit names and figures stay. Each pattern is bounded,
so that hostile text costs time only in proportion to its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# After pwd a path is a folder, not a password: sudo's log says PWD=/root. Host keys and public keys are not secrets.
# In a sudoers line, NOPASSWD is followed by a command, not by a password.
_NAMED = (
    r"(?:(?<!\bno)passw(?:or)?d|passphrase|pwd(?!\W{1,8}/)|(?<=[_.-])pass|secret|token|credentials?|psk"
    r"|(?:api|app|access|private|signing|encryption|routing|integration|service|account|shared|master|client)[_-]?key)"
)
_NAMED_HINTS = "pass pwd secret token credential psk key"
_SUFFIX = r"(?:s|\d{1,3}|[_.-][\w.-]{0,40})?"  # passwords, token2, secret_key; not PasswordAuthentication
_QUOTE = r"""\\{0,3}["']?"""  # JSON within JSON has its quotes escaped
# In a cut line a quote is not closed; YAML has the value on the next line, after | or >.
_VALUE = (
    r"""(?:\\{1,3}"[^"\\\n]*(?:\\{1,3}")?|"(?:[^"\\\n]|\\.)*(?:"|\\?\Z|(?=\n))|'[^'\n]*(?:'|\Z|(?=\n))"""
    r"""|[|>][+-]?[ \t]{0,8}\n[ \t]{1,40}[^\n]+"""
    r"""|(?!\[redacted[\]:])(?:[^\s"',;&\\]|\\(?!["']))+)"""
)

KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_MARK = "[redacted: private key]"

SECRET_NAME = re.compile(rf".{{0,200}}{_NAMED}(?:[_-]?\d{{1,3}}|[_-]data)?\Z", re.IGNORECASE | re.DOTALL)
"""The name of a mapping's value that is a secret, clientSecret and db-password among them."""

SECRET_NEXT = re.compile(
    rf"(?:\A--[\w-]{{0,40}}{_NAMED}{_SUFFIX}|{_NAMED}{_SUFFIX}{_QUOTE}\s{{0,8}}:\s{{0,8}}[|>][+-]?)\s{{0,8}}\Z",
    re.IGNORECASE,
)
"""The end of a text that makes the next text of a list the secret: a bare flag, or YAML's | and >."""

SECRET_NAMED = re.compile(
    rf"\bname{_QUOTE}\s{{0,8}}[:=]\s{{0,8}}{_QUOTE}[\w.-]{{0,60}}?{_NAMED}[\w.-]{{0,40}}\W{{0,8}}\Z", re.IGNORECASE
)
"""The end of a text that makes a `value` in the next text of a list the secret."""

VALUE = re.compile(rf"(\bvalue{_QUOTE}\s{{0,8}}[:=]\s{{0,8}}){_VALUE}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SecretForm:
    """A form of a secret as a pattern, and its replacement.

    Shape: `hints` are lower-case words; every text with this form contains a hint. So most texts are not
    searched, and an unused pattern is never compiled.
    """

    hints: tuple[str, ...]
    form: str
    mark: str


def _form(hints: str, pattern: str, mark: str) -> SecretForm:
    return SecretForm(tuple(hints.split(" ")), pattern, mark)


def _after(hints: str, before: str, value: str = r"(?![^\s\"']{0,200}\[redacted)[^\s\"']+") -> SecretForm:
    """A value that follows `before`, in upper or lower case."""
    return _form(hints, rf"(?i:({before})){value}", r"\1[redacted]")


_AWS_HINTS = "akia asia abia acca a3t"
_AWS_ID = r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}"
_AUTHORIZATION = r"authorization[\"']?\s{0,8}[:=]\s{0,8}[\"']?"

FORMS: tuple[SecretForm, ...] = (
    # --- forms of their own
    # The secret half of an AWS pair has no form of its own, but follows the other half.
    _form(
        _AWS_HINTS,
        rf"\b{_AWS_ID}([\s,:;|\"']{{1,6}})[A-Za-z0-9/+]{{40}}(?![A-Za-z0-9/+])",
        r"[redacted: AWS key]\1[redacted: AWS secret key]",
    ),
    _form(_AWS_HINTS, rf"\b{_AWS_ID}\b", "[redacted: AWS key]"),
    _form("xox xapp", r"\b(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{6,}", "[redacted: Slack token]"),
    _form("hooks.slack", r"(hooks\.slack\.com/)[A-Za-z]{1,20}/[^\s\"'<>]+", r"\1[redacted: Slack webhook]"),
    _form(
        "/api/webhooks/ webhook.office",
        r"(/api/webhooks/|\.webhook\.office\.com/)[^\s\"'<>\[]+",
        r"\1[redacted: webhook]",
    ),
    _form(
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
        "[redacted: GitHub token]",
    ),
    # PagerDuty: a person's REST token, and the routing key of an event orchestration. Others are found by name only.
    _form(
        "u+ r",
        r"(?:u(?<![\w+]u)\+[A-Za-z0-9_-]{18}|R(?<![\w+]R)(?=[A-Z]{0,30}\d)[A-Z0-9]{31})(?![\w-])",
        "[redacted: PagerDuty key]",
    ),
    _form(
        "glpat- glrt- npm_ hf_ dop_v1_ hvs. hvb. glsa_ glc_ sk_live_ rk_live_ sk- pypi- ya29. sg. aiza shpat_ "
        "dckr_pat_ age-secret-key-",
        r"\b(?:gl(?:pa|r)t-|npm_|hf_|dop_v1_|hv[sb]\.|gl(?:sa|c)_|[sr]k_live_|sk-(?=[\w-]{0,60}\d)|pypi-|ya29\.|SG\."
        r"|AIza|shpat_|dckr_pat_|AGE-SECRET-KEY-)[A-Za-z0-9_.-]{16,}",
        "[redacted: token]",
    ),
    _form("eyj", r"\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", "[redacted: JSON web token]"),
    _form("ls0tls1crudjti", r"LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]{8,}", "[redacted: encoded key or certificate]"),
    _form(
        "$1 $2 $5 $6 $7 $y $gy $argon2",
        r"\$(?:1|2[abxy]|5|6|7|g?y|argon2id?)\$[^\s:\"']{8,}",
        "[redacted: password hash]",
    ),
    # --- headers
    # Words of prose follow "bearer" too; a token contains a digit, a capital or a sign, or is very long.
    _form(
        "bearer",
        r"\b((?i:bearer)\s{1,8})(?=[a-z]{0,24}[A-Z0-9._~+/=-]|[a-z]{25})[A-Za-z0-9._~+/=-]{8,}",
        r"\1[redacted: bearer token]",
    ),
    _after("authorization", rf"{_AUTHORIZATION}(?:basic|token|bearer|negotiate|apikey|genie-?key)\s{{1,8}}"),
    _after("authorization", rf"{_AUTHORIZATION}(?:digest|aws4-hmac-sha256)\s{{1,8}}", r"[^\s\[][^\n]*"),
    _after("authorization", _AUTHORIZATION, r"(?=[^\s\"'\[]{0,200}\d)[^\s\"'\[]{8,}"),
    _after("cookie", r"\b(?:set-)?cookie[\"']?\s{0,8}[:=]\s{0,8}[\"']?", r"[^\s\"'\[][^\n\"']*"),
    # --- addresses; a password may contain @ and /; a port is not a password, however many @ its path has
    _form("://", r"(://[^\s:/@\"'\[]{0,256}:)(?!\d{1,5}(?:[/?#\s]|\Z))[^\s\"'<>]{1,256}@", r"\1[redacted]@"),
    _form("://", r"(://)(?=[^\s:/@\"'<>\[?#]{0,256}\d)[^\s:/@\"'<>\[?#]{20,256}@", r"\1[redacted]@"),
    _after(
        "signature= sig= key=",
        r"[?&](?:x-amz-signature|x-goog-signature|signature|sig|key)=",
        r"[^&\s\"'<>\[][^&\s\"'<>]*",
    ),
    # --- command lines whose flags do not say what follows
    _after("sshpass", r"\bsshpass\s{1,8}-p\s{0,8}", _VALUE),
    _after("redis-cli", r"\bredis-cli\s(?:[^\n]{0,200}?\s)?-a\s{1,8}", _VALUE),
    _after("mysql maria", r"\b(?:mysql|mariadb)[\w-]{0,12}\s(?:[^\n]{0,200}?\s)?-p(?=\S)", _VALUE),
    _after("curl", r"\bcurl\s(?:[^\n]{0,300}?\s)?(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,80}:"),
    # --- names that say what follows
    _after(_NAMED_HINTS, rf"--[\w-]{{0,40}}{_NAMED}{_SUFFIX}(?:\s{{1,8}}|=)", _VALUE),
    _after(
        "value",  # as Kubernetes lists a container's environment
        rf"\bname{_QUOTE}\s{{0,8}}[:=]\s{{0,8}}{_QUOTE}[\w.-]{{0,60}}?{_NAMED}[\w.-]{{0,40}}{_QUOTE}\s{{0,40}},?\s{{0,40}}"
        rf"{_QUOTE}value{_QUOTE}\s{{0,8}}[:=]\s{{0,8}}",
        _VALUE,
    ),
    _after(
        "auth", r"(?:[\"']auth\\{0,3}[\"']\s{0,8}:\s{0,8}\\{0,3}[\"']|\b_auth\s{0,4}=\s{0,4})", r"[A-Za-z0-9+/=]{8,}"
    ),
    _after(_NAMED_HINTS, rf"{_NAMED}{_SUFFIX}{_QUOTE}\s{{0,8}}[:=]>?\s{{0,8}}", _VALUE),
)
