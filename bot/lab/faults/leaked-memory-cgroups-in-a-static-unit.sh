# The same leak in a unit without [Install], of a package: only a mask keeps it from starting.
. "$lab/leaked-memory-cgroups.sh"
unit=/lib/systemd/system/ecs.service install=
