"""Cases of memory that the kernel itself is refused, as mm/page_alloc.c tells of it."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kernel import BOUND
from tests.independent.kinds import amazon2, database, edge, google, gpu_node, metal, rhel7, rocky8, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_PAGES = "page-allocation-failing"
_ATOMIC = "swapper/{n}: page allocation failure: order:0, mode:0x480020(GFP_ATOMIC), nodemask=(null),cpuset=/"
_OLD = "swapper: page allocation failure. order:0, mode:0x20"
_NETWORK = "ksoftirqd/3: page allocation failure: order:0, mode:0xa20(GFP_ATOMIC), nodemask=(null),cpuset=/"
_PIECES = "kworker/u64:{n}: page allocation failure: order:5, mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null)"
_JUMBO = "swapper/9: page allocation failure: order:2, mode:0x484020(GFP_ATOMIC|__GFP_COMP), nodemask=(null),cpuset=/"
_REFILL = "ena 0000:00:05.0 eth0: Trigger refill for ring 3"

PAGES: list[Label] = [
    sick(_PAGES, "bursts of packets find no page", gpu_node().log_every(20, 12, 9, _ATOMIC)),
    sick(
        _PAGES,
        "the same, and the card's ring stays empty",
        Machine().log((15, _REFILL)).log_every(20, 12, 9, _ATOMIC),
        also=("memory-reclaim",),
    ),
    sick(_PAGES, "an old kernel's words", rhel7().log_every(90, 30, 5, _OLD)),
    sick(_PAGES, "a peak half an hour ago, over three minutes", google().log_every(30 * MINUTE, 11, 16, _NETWORK)),
    sick(
        _PAGES,
        "memory in pieces: each frame of nine thousand bytes asks for four pages",
        metal().log_every(60, 100, 20, _JUMBO),
    ),
    sick(_PAGES, "a driver asks for thirty-two pages again and again", rocky8().log_every(60, 120, 25, _PIECES)),
    near(_PAGES, "one page was refused once, ten minutes ago", gpu_node().log((10 * MINUTE, _NETWORK))),
    near(_PAGES, "two at the same burst", Machine().log_every(600, 10, 2, _ATOMIC)),
    near(_PAGES, "a driver was loaded and took smaller rings", metal().log_every(20 * MINUTE, 2, 4, _PIECES)),
    near(_PAGES, "a storm of them, yesterday", database().log_every(26 * HOUR, 10, 60, _ATOMIC)),
    near(_PAGES, "at boot, eight days ago", amazon2(up=8 * DAY).log_every(8 * DAY - 90, 10, 8, _PIECES)),
    near(_PAGES, "a peak two hours ago", google().log_every(2 * HOUR, 11, 16, _NETWORK)),
    near(_PAGES, "none ever", edge()),
    near(
        _PAGES, "the whole machine ran out of memory, and killed", small().log((10 * MINUTE, BOUND[1])), "", "oom-kills"
    ),
    near(
        _PAGES,
        "a container killed for its own limit, alone",
        Machine().log((9 * MINUTE, "Memory cgroup out of memory: Killed process 812 (ray) total-vm:1kB, anon-rss:1kB")),
    ),
    near(
        _PAGES,
        "a graphics driver's own allocation failed",
        gpu_node().log(
            (9 * MINUTE, "[drm:nv_drm_gem_alloc] *ERROR* [nvidia-drm] [GPU ID 0x00001e00] Failed to allocate memory")
        ),
    ),
]
