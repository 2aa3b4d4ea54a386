"""What a command line, an environment and a sentence about a password still show, and what they never do."""

import pytest

from bot.domain.safe_text import redacted_text

SHOWN = (
    "x '--flag' isn't at node-1b yet",
    'args: ["',
    'args: ["-c',
    'args: ["--v=2',
    "agent: ray::train_step took 40 s",
    "root 8 0.0 0.1 9 4 ?  Ss   10:11   0:00 java -Xmx4g -jar /opt/app/x.jar --spring.profiles.active=prod",
    "ann 9 9.0 1.2 9 4 pts/0    R+   10:11  81:00 python train.py --epochs 10 --lr 3e-4 --model llama3-70b",
    "sudo[4]: ann : TTY=pts/0 ; PWD=/srv ; USER=root ; COMMAND=/usr/bin/systemctl restart kubelet",
    "sudo[4]: ann : PWD=/srv ; USER=root ; COMMAND=/usr/bin/kubectl drain node-7 --ignore-daemonsets --timeout=120s",
    "CRON[7]: (root) CMD (/usr/lib/sysstat/sa1 1 1)",
    "CRON[7]: (root) CMD (cd / && run-parts --report /etc/cron.hourly)",
    "ExecStart=/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id 0123456789ab -address /run/c.sock",
    "ExecStart=/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock --log-level info",
    "Environment=LANG=C.UTF-8 LOG_LEVEL=info PORT=8080 DATA_DIR=/var/lib/app",
    "+ mount -t nfs 10.0.0.4:/export /mnt -o rw,vers=4.2,timeo=600",
    "+ echo starting the upload of two files",
    "iptables -A KUBE-SVC-ERIFXISQEP7F7OF4 -m comment --comment x -j DROP",
    "the flag --container-log-max-size is deprecated and will be removed",
    "--record stores what the nodes said, and --open opens incidents: not both at once",
    "java -Xmx4g -XX:+UseG1GC -Djava.security.egd=file:/dev/./urandom -jar /opt/x.jar",
    "grep -R --include=*.conf password /etc",
    "a password with '-a' or '--pass' on the command line can be insecure",
    "mysql_native_password is deprecated, please use caching_sha2_password instead",
    "Password verification failed at sun.security.provider.JavaKeyStore.engineLoad(JavaKeyStore.java:792)",
    "PassEnvironment=TZ LANG",
    'certbot renew --quiet --deploy-hook "systemctl reload nginx"',
    "the check ends once its deadline passes meanwhile",
    "a password of a database whose FLEET_DATABASE_URL has none",
    "Failed password for invalid user web12 from 10.0.0.9 port 51234 ssh2",
    "Failed password for worker17a from 10.0.0.9 port 51234 ssh2",
    'FATAL: password authentication failed for user "worker17a"',
    'TLS PSK identity "worker17a" not found, no token of pod: web-7d9f8b6c5d-x2x4z',
    "MountVolume.SetUp failed: no secret for pod web-7d9f8b6c5d-x2x4z in namespace prod",
    'zabbix_agentd: TLS PSK identity "gpu-node-017" not found',
    "dex: Failed to get password connector: no connector with id ldap",
    "slapd[33]: conn=1001 op=1 SRCH attr=objectClass uid userPassword uidNumber gidNumber gecos loginShell cn",
    "ldapsearch: requesting: userPassword shadowExpire",
    "DataSource dbPassword: [redacted] maxPool: 5, validated",
    "fatal: could not read Password for 'https://bob@git.corp': terminal prompts disabled",
    "Your password does not satisfy the current policy requirements",
    "pam_unix(sshd:auth): password changed for ann by root(uid=0)",
    "Username or password is incorrect. Try again. IP: 10.0.0.7. Username: ann@example.com.",
    "Das Kennwort für den Benutzer web12 ist abgelaufen.",
)


@pytest.mark.parametrize("line", SHOWN)
def test_what_a_person_needs_is_shown(line: str) -> None:
    assert redacted_text(line) == line


@pytest.mark.parametrize(
    ("line", "secrets"),
    [
        ("x[4]: + fleetctl open --door calvin --level 4", ["calvin"]),
        ('["fleetctl", "--door", "calvin", "--level", "4"]', ["calvin"]),
        ("ExecStart=/usr/bin/fleetd -w Enroll-Me-20 --listen 10.0.0.1:80", ["Enroll-Me-20"]),
        ("root 8 0.0 0.1 9 4 ?  Ss   10:11   0:00 openssl enc -d -in x.enc -k moon walk", ["moon", "walk"]),
        ("check_x -H sw-core-1 -U ann -a SHA -A auThPhr4se -X pr1vPhrase", ["auThPhr4se", "pr1vPhrase"]),
        ("sh -c fleetctl --opener ann:calvin -o door=hobbes,level=4", ["calvin", "hobbes"]),
        ("+ echo -n calvin", ["calvin"]),
        ('args: ["--door=calvin", "--wall=hobbes"], "x"', ["calvin", "hobbes"]),
        ('args: ["--door=calvin', ["calvin"]),
        ("Environment=FLEET_DOOR=calvin LOG_LEVEL=info", ["calvin"]),
        ("ann tried 'Fake1' as her password, then Fake2Calvin, both rejected", ["Fake1", "Fake2Calvin"]),
        ("the password of this door, we were told, will stay calvin", ["calvin"]),
        ('authentication for user "ann" with password "calvin" accepted', ["calvin"]),
        ("Generated password for admin account: calvin9xHobbes", ["calvin9xHobbes"]),
        ('new password for postgres database "calvin9xHobbes"', ["calvin9xHobbes"]),
        ("Passwort für den Benutzer: calvin9xHobbes", ["calvin9xHobbes"]),
        ("Reset password for service account (calvin9xHobbes)", ["calvin9xHobbes"]),
        ("Setting adminPassword to calvin9Hobbes", ["calvin9Hobbes"]),
        ('{"msg":"clientSecret calvin9Hobbes"}', ["calvin9Hobbes"]),
        ("WARN property dbPassword (calvin9) is deprecated", ["calvin9"]),
    ],
)
def test_what_nothing_says_to_be_harmless_is_cut(line: str, secrets: list[str]) -> None:
    shown = redacted_text(line)
    assert [secret for secret in secrets if secret in shown] == []
    assert redacted_text(shown) == shown
