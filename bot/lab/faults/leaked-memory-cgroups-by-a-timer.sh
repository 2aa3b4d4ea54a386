# The same leak in a job that a timer starts: only a mask keeps it from starting.
. "$lab/leaked-memory-cgroups.sh"
unit=/lib/systemd/system/ecs.service timer=/lib/systemd/system/ecs.timer
service=Type=oneshot install=
make() {
    write_unit
    cat >$timer <<END
[Timer]
OnActiveSec=0
OnUnitInactiveSec=1
AccuracySec=100ms
[Install]
WantedBy=timers.target
END
    systemctl daemon-reload
    systemctl -q enable --now ecs.timer
}
