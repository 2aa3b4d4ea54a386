"""The name servers of /etc/resolv.conf, each asked three questions: whether it answers matters, not what.

Defined in: resolv.conf(5), dig(1), host(1); RFC 1035, section 4.1.1, and RFC 6895 (the names of answers' codes);
busybox, networking/nslookup.c. `getent` is not asked: it says the same of "no such name" and of no answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.fragment import END, fragment

QUESTIONS = 3


@dataclass(frozen=True, slots=True)
class NameServer:
    """A server and the codes of its answers; a question without an answer has no code.

    "No such name" and "refused" are answers: a server need not know the name in question.
    """

    address: str
    codes: tuple[str, ...] = ()
    line: str = ""

    @property
    def failed(self) -> int:
        """How many questions got no answer, or the answer that the server failed (SERVFAIL)."""
        return max(0, QUESTIONS - sum(code != "SERVFAIL" for code in self.codes))


@dataclass(frozen=True, slots=True)
class DnsReading:
    """The servers in the order of use; at most three, because the C library uses no more."""

    probe: ClassVar[str] = "dns"

    servers: tuple[NameServer, ...] = ()

    @property
    def silent_count(self) -> int:
        """How many servers gave no answer at all."""
        return sum(server.failed == QUESTIONS for server in self.servers)


_RESOLV = "/etc/resolv.conf"
# Without a tool of its own, bash asks: a question in one packet, of whose answer the header has the code. What prints
# it is a program, for bash itself sends a packet at each byte that is a line's end.
_BASH = fragment("""
    case $1 in a) n=1;; ns) n=2;; *) n=6;; esac; c=(NOERROR FORMERR SERVFAIL NXDOMAIN NOTIMP REFUSED);
    q="aa\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0"; IFS=.;
    for l in $2; do [ -n "$l" ] && printf -v o "\\\\%03o" ${#l} && q+=$o$l; done; IFS=" ";
    { env printf "$q\\0\\0\\\\$n\\0\\1" >&3; set -- $(timeout 1 head -c 4 <&3 | od -An -tu1); } 3<>/dev/udp/$3/53;
    [ $# = 4 ] && echo "status: ${c[$4 & 15]:-OTHER},";
""")
# The questions: the root, the machine's own name, and the search domain or `localhost`. Several names are needed
# because a private server may know only its own. Addresses and names must consist of legal characters. All but dig ask
# in turn, and stop after two questions without an answer. A server costs megabytes while it is asked: the next is asked
# when the one before it has answered, or after a second.
_LOOK = fragment(f"""
    [ -r {_RESOLV} ] || {{ echo 'no resolv.conf'; exit; }};
    s= d= n=0; while read -r k v r || [ -n "$k" ]; do
        case $k in nameserver)
            case $v in ''|[!0-9A-Fa-f:]*|*[!0-9A-Za-z:.%]*) ;; *) [ $n -lt 3 ] && s="$s $v"; n=$((n + 1));; esac;;
        search|domain) case $v in ''|[!A-Za-z0-9]*|*[!A-Za-z0-9.-]*|*..*) ;; *) d=${{d:-$v}};; esac;;
        esac; done <{_RESOLV};
    read -r h </proc/sys/kernel/hostname; case $h in ''|[!A-Za-z0-9]*|*[!A-Za-z0-9.-]*|*..*) h=localhost;; esac;
    [ ${{#h}} -lt 64 ] || h=localhost; case $h in *.*) ;; *) h=$h${{d:+.$d}};; esac;
    t=; for p in dig host; do command -v $p >/dev/null && t=$p && break; done;
    [ -n "$t" ] || {{
        if bash -c 'type -P env printf timeout od && : <>/dev/udp/127.0.0.1/53' >/dev/null 2>&1; then t=bash;
        elif nslookup </dev/null 2>&1 | grep -q -e -type=; then t=nslookup; fi; }};
    echo "tool $t"; echo "servers" $s;
    [ -n "$t" ] || s=;
    for x in $s; do (
        r=$(if [ $t = dig ]; then
            dig @$x +time=2 +tries=1 +noall +comments . NS $h. A ${{d:-localhost}}. SOA 2>/dev/null;
        else
            m=; for q in 'ns .' "a $h." "soa ${{d:-localhost}}."; do
                case $t in
                host) a=$(host -v -W 1 -R 1 -t $q $x 2>/dev/null);;
                bash) a=$(bash -c '{_BASH}' bash $q $x 2>/dev/null);;
                *) a=$(nslookup -timeout=1 -retry=1 -type=${{q% *}} ${{q#* }} $x 2>/dev/null);
                    case $a in *"server can't find"*) a="status: ${{a##*: }},";; Server:*) a='status: NOERROR,';; esac;;
                esac; printf '%s\\n' "$a";
                case $a in *status:*) ;; *) m=x$m;; esac; [ "$m" != xx ] || break; done;
        fi | sed -n 's/.*status: \\([A-Z0-9]*\\),.*/\\1/p' | head -n {QUESTIONS});
        echo server $x $r ) & i=0;
        while [ $i -lt 10 ] && kill -0 $! 2>/dev/null; do sleep 0.1; i=$((i + 1)); done; done; wait;
    echo '{END}'
""")
_SERVER = re.compile(r"server ([0-9A-Fa-f:][0-9A-Za-z:.%]{0,79})((?: [A-Z0-9]{1,16}){0,3})\s*")


def parse(outputs: Outputs) -> DnsReading:
    """Read what each server answered.

    Unread when: nothing is installed that can ask, no file names servers, or the answer is cut short.
    """
    lines = outputs.text("look").rstrip("\n").split("\n")
    if lines == ["no resolv.conf"]:
        raise CannotRead(f"dns: {_RESOLV} could not be read")
    if lines[-1] != END or len(lines) < 3 or not lines[1].startswith("servers"):
        raise CannotRead("dns: the answer is cut short")
    addresses = lines[1].split()[1:]
    if not addresses:
        return DnsReading()
    if lines[0].strip() == "tool":
        raise CannotRead("dns: neither dig nor host is installed, nor a bash or nslookup that can ask")
    answered = {found.group(1): found for line in lines[2:-1] if (found := _SERVER.fullmatch(line))}
    if set(answered) != set(addresses) or len(lines) - 3 != len(addresses):
        raise CannotRead("dns: a server is missing in the answer")
    return DnsReading(
        tuple(
            NameServer(address, tuple(answered[address].group(2).split()), one_line(answered[address].group(), 120))
            for address in dict.fromkeys(addresses)
        )
    )


PROBE = Probe(
    name="dns",
    title="name servers",
    commands=(Command("look", ("sh", "-c", _LOOK), lane="services", output_limit_bytes=16 * 1024),),
    parse=parse,
    reading=DnsReading,
)
