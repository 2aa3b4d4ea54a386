"""Transient units without a systemd: a `systemd-run` and a `systemctl` that start, show and end real processes.

They take the words that the real ones take, and refuse others; one unit at a time.
"""

from pathlib import Path

_RUN = r"""#!/usr/bin/python3
import os, re, subprocess, sys, time
words, folder = sys.argv[1:], "@FOLDER@"
unit = None
while words and words[0].startswith("-"):
    word = words.pop(0)
    if word == "-p":
        if not re.fullmatch(r"(CPUQuota=\d+%|MemoryMax=\d+M|MemoryLimit=\d+M|RuntimeMaxSec=\d+)", words[0]):
            sys.exit("Cannot set property " + words[0])
        words.pop(0)
    elif word.startswith("--unit="):
        unit = word[7:]
    elif word not in ("--quiet", "--collect") and not re.fullmatch(r"--nice=\d+", word):
        sys.exit("unrecognized option " + word)
if unit != "zombie-capture":
    sys.exit("another unit: " + str(unit))
if not os.path.isfile(words[0]):
    sys.exit("Failed to find executable " + words[0])
log = open(folder + "/unit.log", "ab")
process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
                           close_fds=True)
with open(folder + "/unit", "w") as file:
    file.write("%d %d" % (process.pid, time.monotonic_ns() // 1000))
os.chmod(folder + "/unit", 0o644)
"""

_CTL = r"""#!/usr/bin/python3
import os, signal, sys, time
folder = "@FOLDER@"
try:
    pid, since = map(int, open(folder + "/unit").read().split())
    alive = open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[0] not in "ZX"
except OSError:
    pid = since = 0
    alive = False
match sys.argv[1:]:
    case ["--version"]:
        print("systemd @VERSION@ (of a test)")
    case ["show", *_]:
        told = {"Result": "success", "ActiveState": "active" if alive else "inactive", "MainPID": pid * alive}
        told["ExecMainStartTimestampMonotonic"] = since * alive
        asked = [word for before, word in zip(sys.argv, sys.argv[1:]) if before == "-p"]
        print("".join("%s=%s\n" % (name, value) for name, value in told.items() if name in asked), end="")
    case ["stop", "zombie-capture.service"]:
        if alive:
            os.killpg(pid, signal.SIGTERM)
            for _ in range(100):
                try:
                    if open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[0] in "ZX":
                        break
                except OSError:
                    break
                time.sleep(0.05)
    case ["reset-failed", "zombie-capture.service"]:
        sys.exit("Unit zombie-capture.service not loaded.")
    case other:
        sys.exit("unknown: %r" % (other,))
"""


def make_units(folder: Path, version: int = 252) -> tuple[Path, Path]:
    """Write both programs into a folder and return them."""
    run, ctl = folder / "systemd-run", folder / "systemctl"
    for path, text in ((run, _RUN), (ctl, _CTL)):
        path.write_text(text.replace("@FOLDER@", str(folder)).replace("@VERSION@", str(version)))
        path.chmod(0o755)
    return run, ctl
