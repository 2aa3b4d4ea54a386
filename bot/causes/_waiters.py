"""Tasks that wait uninterruptibly at both looks, and what they wait for, by the kernel function they sleep in.

Most logins other than root cannot see that function; then it is not known what a task waits for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.probes.processes import ProcessesReading, Waiting

# A task sleeping in these waits for a disk, a file system or a file server: block/, mm/filemap.c, fs/, net/sunrpc/.
_STORAGE = re.compile(
    r"_*(?:(?:folio|page)_wait|wait_on_(?:page|buffer|bit)|wait_for_writeback|blk_|blkdev_|rq_qos|wbt_|submit_bio|bio_|"
    r"bit_wait_io|io_schedule|jbd2_|journal_|wait_transaction|start_this_handle|ext4_|xfs_|xlog_|btrfs_|rpc_|nfs[34]?_|"
    r"dm_|balance_dirty|fuse_|request_wait_answer|ceph_|sync_(?:inodes|filesystem)|do_get_write_access|get_request|"
    r"zio_wait|txg_wait|ptlrpc_|ldlm_|osc_|mdc_|cl_sync_io|wait_for_response|cifs_|p9_|cxiWait|[Ff]hgfs|wekafs_|afs_|"
    r"orangefs_|wait_for_matching_downcall|gfs2_|dlm_|ocfs2_)"
)
# NFS, Lustre, SMB, Ceph's file system, 9p, GPFS, BeeGFS, Weka, AFS, OrangeFS, the cluster file systems GFS2 and OCFS2,
# and a program that serves a file system (FUSE).
_FILE_SERVER = re.compile(
    r"_*(?:rpc_|nfs[34]?_|ptlrpc_|ldlm_|osc_|mdc_|cl_sync_io|wait_for_response|cifs_|ceph_|p9_|fuse_|request_wait_answer|"
    r"cxiWait|[Ff]hgfs|wekafs_|afs_|orangefs_|wait_for_matching_downcall|gfs2_|dlm_|ocfs2_)"
)
# Threads of GPU drivers, frozen cgroups, a parent between vfork and exec, and the thread of md that keeps to a speed
# while it rebuilds or checks an array (drivers/md/md.c: md_do_sync) wait this way by design.
_BY_DESIGN = re.compile(r"_*(?:nv_|nvidia|uvm_|os_acquire|rm_|refrigerator|do_freezer_trap|kernel_clone|do_fork)")
_OWN_PACE = re.compile(r"(?:nv_|nvidia|UVM |irq/[0-9]+-nvidia|md\w*_(?:resyn|resha))")


def waiters(waiting: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """Return the tasks that do not wait by design."""
    return tuple(each for each in waiting if not _BY_DESIGN.match(each.wchan) and not _OWN_PACE.match(each.name))


def perhaps_stuck(processes: ProcessesReading, few: float) -> tuple[Waiting, ...]:
    """Return those that may be stuck: a task that used CPU between the looks was not asleep all the time.

    Only the busiest are listed. If many of the waiters are among them, so are the others as far as is known.
    """
    waiting = waiters(processes.waiting)
    moved = {process.pid for process in processes.busiest}
    still = tuple(each for each in waiting if each.pid not in moved)
    went_on = len(waiting) - len(still)
    return () if went_on >= few and went_on >= len(processes.busiest) / 2 else still


def for_storage(waiting: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """Return the tasks known to wait for storage."""
    return tuple(each for each in waiting if _STORAGE.match(each.wchan))


def for_file_server(waiting: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """Return the tasks known to wait for a file server."""
    return tuple(each for each in waiting if _FILE_SERVER.match(each.wchan))


def may_be_for_storage(waiting: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """Return the tasks that wait for storage, or whose wait is not known."""
    return tuple(each for each in waiting if not each.wchan or _STORAGE.match(each.wchan))


def ps_line(each: Waiting) -> str:
    """Return a task as `ps -eo pid,state,wchan,comm` shows it."""
    return f"{each.pid} D {each.wchan or '-'} {each.name}"
