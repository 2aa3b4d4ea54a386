"""Secrets of every kind in the words around which they are found, put together from parts and random text.

No line of this file looks like a leaked secret to a scanner, and none was ever valid.
"""

from __future__ import annotations

import base64
import random
import string
from dataclasses import dataclass

_ALNUM = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits


@dataclass(frozen=True)
class Seeded:
    """A text that holds secrets; `hidden` are the words of it that nobody may ever see."""

    kind: str
    text: str
    hidden: tuple[str, ...]


def seeded(seed: int) -> tuple[Seeded, ...]:
    """Return the corpus; another seed has other secrets in the same words."""
    chance = random.Random(seed)

    def draw(length: int, letters: str = _ALNUM) -> str:
        # A digit, a small and a capital letter are always there, as in what is drawn for real at this length.
        must = [letter for letter in "7kQ" if letter in letters]
        return "".join([*must[:1], *(chance.choice(letters) for _ in range(length - len(must))), *must[1:]])

    hex32, word, aws_id = draw(32, "0123456789abcdef"), draw(20), "AKIA" + draw(16, _UPPER)
    secret40, url_word = draw(30) + "/" + draw(9), draw(12) + "@" + draw(4)
    jwt = ".".join(("eyJ" + draw(30), "eyJ" + draw(60), draw(43, _ALNUM + "-_")))
    slack, app = f"xoxb-{draw(12, string.digits)}-{draw(24)}", f"xapp-1-A{draw(9, _UPPER)}-{draw(13, string.digits)}"
    body = [draw(64, _ALNUM + "+/") for _ in range(4)]
    pem = "\n".join(["-----BEGIN RSA PRIVATE " + "KEY-----", *body, "-----END RSA PRIVATE " + "KEY-----"])
    encoded = base64.b64encode(pem.encode()).decode()
    pagerduty, routing = "u+" + draw(18), "R" + draw(31, _UPPER)
    basic = base64.b64encode(f"bot:{word}".encode()).decode()
    kubeconfig = "\n".join(
        [
            "apiVersion: v1",
            "users:",
            "- name: admin",
            "  user:",
            f"    client-key-data: {encoded}",
            f"    token: {word}",
        ]
    )
    rows: list[tuple[str, str, tuple[str, ...]]] = [
        ("Slack bot token", f"SLACK_BOT_TOKEN={slack} zombie serve", (slack, slack[20:])),
        ("Slack bot token in prose", f"it says {slack}, which is new", (slack[20:],)),
        ("Slack app token", f"dialling with {app}…", (app[8:],)),
        ("Slack signing secret", f"SLACK_SIGNING_SECRET={hex32}", (hex32,)),
        ("Slack webhook", f"https://hooks.slack.com/services/T0123/B0123/{word}", (word,)),
        ("PagerDuty REST token", f"Authorization: Token token={pagerduty}", (pagerduty,)),
        ("PagerDuty REST token alone", f"key {pagerduty} was used", (pagerduty,)),
        ("PagerDuty old token", f"curl -H 'Authorization: Token token={word}' https://api", (word,)),
        ("PagerDuty routing key", f'{{"routing_key": "{routing}", "event_action": "trigger"}}', (routing,)),
        ("PagerDuty routing key alone", f"sent to {routing}", (routing,)),
        ("PagerDuty integration key", f"integration_key: {hex32}", (hex32,)),
        ("PagerDuty service key", f'{{\\"service_key\\": \\"{hex32}\\"}}', (hex32,)),
        ("AWS pair", f"{aws_id},{secret40}", (aws_id, secret40)),
        ("AWS secret", f"aws_secret_access_key = {secret40}", (secret40,)),
        ("AWS secret in JSON", f'{{"AccessKeyId":"{aws_id}","SecretAccessKey":"{secret40}"}}', (aws_id, secret40)),
        ("AWS session", f"export AWS_SESSION_TOKEN={draw(40)}//{word}=", (word,)),
        ("AWS signature", f"Authorization: AWS4-HMAC-SHA256 Credential={aws_id}/x, Signature={hex32}", (aws_id, hex32)),
        ("signed URL", f"GET https://b.s3/x?X-Amz-Date=1&X-Amz-Signature={hex32}&a=1", (hex32,)),
        ("Azure signature", f"https://a.blob/x?sv=2024&sig={word}%3D", (word,)),
        ("bearer header", f"Authorization: Bearer {word}", (word,)),
        (
            "bearer header of small letters",
            "Authorization: bearer " + (small := draw(16, string.ascii_lowercase)),
            (small,),
        ),
        ("bearer in curl", f'curl -H "authorization: bearer {word}.{hex32}" http://10.0.0.1', (word, hex32)),
        ("basic header", f"Authorization: Basic {basic}", (basic,)),
        ("header without a scheme", f'"authorization": "{word}"', (word,)),
        ("digest header", f'Authorization: Digest username="a", response="{hex32}"', (hex32,)),
        ("API key header", f"X-Api-Key: {word}", (word,)),
        ("Vault header", f"X-Vault-Token: hvs.{word}{word}", (word,)),
        ("cookie header", f"Cookie: theme=dark; session={word}", (word,)),
        ("JSON web token", f"audit {jwt} denied", tuple(jwt.split("."))),
        ("URL with a password", f"postgresql://bot:{word}@db/zombie", (word,)),
        ("URL with signs in its password", f"amqp://bot:{url_word}/x@mq:5672/", tuple(url_word.split("@"))),
        ("URL without a user", f"redis://:{word}@cache:6379/0", (word,)),
        ("URL with a token", f"https://{hex32}@sentry.example/4", (hex32,)),
        ("proxy", f"http_proxy=http://ann:{word}@proxy:3128", (word,)),
        ("PEM block", f"cat key\n{pem}\nend", tuple(body)),
        ("PEM block in JSON", '{"key": "' + pem.replace("\n", "\\n") + '"}', tuple(body)),
        ("PEM block cut off", "\n".join(pem.split("\n")[:3]), tuple(body[:2])),
        ("kubeconfig", kubeconfig, (word, encoded[40:80])),
        ("Kubernetes environment", f"- name: DB_PASSWORD\n  value: {word}", (word,)),
        ("Kubernetes environment in JSON", f'{{"name":"GRAFANA_TOKEN","value":"{word}"}}', (word,)),
        ("docker login", f'{{"auths":{{"r.example":{{"auth":"{basic}"}}}}}}', (basic,)),
        ("environment", f"DB_PASS={word} API_KEY='{word}x' run", (word,)),
        ("systemd environment", f'Environment="REGISTRY_PASSWORD={word}" "A=1"', (word,)),
        ("YAML block", f"password: |\n    {word}\nuser: ann", (word,)),
        ("quote never closed", f'password="{word} {hex32}', (word, hex32)),
        ("escaped quote never closed", f'{{\\"password\\": \\"{word} {hex32}', (word, hex32)),
        ("flag", f"agent --registry-password {word} run", (word,)),
        ("flag with a sign", f"agent --api-token={word}", (word,)),
        ("mysql", f"mysql -u root -p{word} db", (word,)),
        ("sshpass", f"sshpass -p {word} ssh node", (word,)),
        ("curl", f"curl -s -u ann:{word} https://x", (word,)),
        ("GitHub", f"remote: ghp_{draw(36)}{word}", (word,)),
        ("GitLab", f"glpat-{word}", (word,)),
        ("Grafana", f"glsa_{word}_{hex32[:8]}", (word,)),
        ("private key of WireGuard", f"PrivateKey = {secret40}k=\n[Peer]", (secret40,)),
        ("shadow", f"ann:$6${draw(8)}${word}{hex32}:19000:0", (word, hex32)),
    ]
    return tuple(Seeded(*row) for row in rows)
