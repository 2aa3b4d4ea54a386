#!/bin/sh
# Memory cgroups alive and dying on cgroup v2, for node_exporter's textfile collector.
#
#   memory-cgroups.sh DIR    writes DIR/memory_cgroups.prom; DIR is that of --collector.textfile.directory
#   memory-cgroups.sh        prints the same
#
# Run it every minute, from a systemd timer or cron; any user that may write DIR will do. It reads two small files and
# starts no program but mv and rm. Where the memory controller is on cgroup v1 it gives no figures and exits 0: there
# node_exporter's own --collector.cgroups counts them. Source: Linux, Documentation/admin-guide/cgroup-v2.rst.
set -u
tree=/sys/fs/cgroup
file=${1:+$1/memory_cgroups.prom}

give_up() { # without figures: old ones must not look like new ones
    [ -z "$file" ] || rm -f "$file"
    [ -z "$1" ] || echo "memory-cgroups.sh: $1" >&2
}

here=no
if [ -r $tree/cgroup.controllers ]; then
    read -r controllers <$tree/cgroup.controllers
    case " ${controllers:-} " in *" memory "*) here=yes ;; esac
fi
[ $here = yes ] || { give_up ""; exit 0; }

alive= dying= alive_any= dying_any=
if [ -r $tree/cgroup.stat ]; then
    while read -r name count; do
        case $count in '' | *[!0-9]*) continue ;; esac
        case $name in
        nr_subsys_memory) alive=$count ;; # since Linux 6.12, and without the dying ones
        nr_dying_subsys_memory) dying=$count ;;
        nr_descendants) alive_any=$count ;; # since 4.14, of every controller
        nr_dying_descendants) dying_any=$count ;;
        esac
    done <$tree/cgroup.stat
fi
if [ -z "$alive" ] || [ -z "$dying" ]; then alive=$alive_any dying=$dying_any; fi
if [ -z "$alive" ] || [ -z "$dying" ]; then
    give_up "$tree/cgroup.stat does not count cgroups (Linux before 4.14?)"
    exit 1
fi

figures="# HELP node_memory_cgroups_alive Memory cgroups that have a directory.
# TYPE node_memory_cgroups_alive gauge
node_memory_cgroups_alive $alive
# HELP node_memory_cgroups_dying Memory cgroups that were removed and are not freed.
# TYPE node_memory_cgroups_dying gauge
node_memory_cgroups_dying $dying"
[ -n "$file" ] || { printf '%s\n' "$figures"; exit 0; }
# The collector may read at any time, and only whole files end in .prom.
printf '%s\n' "$figures" >"$file.$$" && mv "$file.$$" "$file" || { rm -f "$file.$$"; exit 1; }
