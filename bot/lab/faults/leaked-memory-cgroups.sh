# ecs.service fails and is started again and again, and each run leaves memory cgroups that are never freed.
state=/dev/shm/ecs-agent.state
unit=/etc/systemd/system/ecs.service
count() { # removed and not freed
    if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
        awk '$1 == "nr_dying_descendants" { print $2 }' /sys/fs/cgroup/cgroup.stat
    else
        echo $(($(awk '$1 == "memory" { print $3 }' /proc/cgroups) - $(find /sys/fs/cgroup/memory -type d | wc -l)))
    fi
}
make() {
    mkdir -p /var/log/ecs
    cat >$unit <<END
[Unit]
Description=Amazon Elastic Container Service - container agent
StartLimitIntervalSec=0
[Service]
Delegate=yes
$service
ExecStart=/usr/bin/perl $lab/ecs-agent.pl
$install
END
    systemctl daemon-reload
    [ -z "$install" ] || systemctl -q enable ecs.service
    systemctl start ecs.service || true
}
service='Restart=always
RestartSec=0'
install='[Install]
WantedBy=multi-user.target'
undo() {
    systemctl -q disable --now ecs.service
    systemctl reset-failed ecs.service 2>/dev/null
    rm -rf $unit $state /var/log/ecs
    systemctl daemon-reload
}
look() {
    n=$(count)
    echo "$n memory cgroups are removed and not freed; ecs.service: $(systemctl show -P NRestarts ecs.service) restarts"
    [ "$n" -ge 3000 ]
}
