# ecs.service fails and is started again and again, and each run leaves memory cgroups that are never freed.
state=/dev/shm/ecs-agent.state
unit=/etc/systemd/system/ecs.service timer=
count() { # removed and not freed
    if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
        awk '$1 == "nr_dying_descendants" { print $2 }' /sys/fs/cgroup/cgroup.stat
    else
        echo $(($(awk '$1 == "memory" { print $3 }' /proc/cgroups) - $(find /sys/fs/cgroup/memory -type d | wc -l)))
    fi
}
write_unit() {
    mkdir -p /var/log/ecs
    cat >$unit <<END
[Unit]
Description=Amazon Elastic Container Service - container agent
StartLimitIntervalSec=0
[Service]
Delegate=yes
EnvironmentFile=-$lab/leak
$service
ExecStart=/usr/bin/perl $lab/ecs-agent.pl
$install
END
    systemctl daemon-reload
}
make() {
    write_unit
    [ -z "$install" ] || systemctl -q enable ${unit##*/}
    systemctl start ${unit##*/} || true
}
service=Restart=always # after the 100 ms that systemd sets: without any, systemd before 251 hangs when it is stopped
install='[Install]
WantedBy=multi-user.target'
undo() {
    systemctl -q disable --now ${timer##*/} ${unit##*/}
    systemctl reset-failed ${unit##*/} 2>/dev/null
    rm -rf $unit $timer $state /var/log/ecs
    systemctl daemon-reload
}
look() {
    n=$(count)
    echo "$n memory cgroups are removed and not freed; ${unit##*/}: $(systemctl show -P NRestarts ${unit##*/}) restarts"
    [ "$n" -ge 3000 ]
}
