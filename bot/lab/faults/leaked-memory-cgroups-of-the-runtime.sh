# The same leak inside the container runtime, a stand-in: a unit that is well, and that nobody may stop.
. "$lab/leaked-memory-cgroups.sh"
unit=/etc/systemd/system/containerd.service service='Environment=IN_ONE_UNIT=1'
