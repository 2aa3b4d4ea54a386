# The container runtime starts at boot, and somebody stopped it. The unit is a stand-in: only its name is containerd's.
unit=/etc/systemd/system/containerd.service
make() {
    cat >$unit <<END
[Unit]
Description=Stand-in for a container runtime
[Service]
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
END
    systemctl daemon-reload
    systemctl -q enable --now containerd.service
    systemctl stop containerd.service
}
undo() {
    systemctl -q disable --now containerd.service
    rm -f $unit
    systemctl daemon-reload
}
look() {
    enabled=$(systemctl is-enabled containerd.service 2>/dev/null) active=$(systemctl is-active containerd.service)
    echo "containerd.service is ${enabled:-not there} and $active"
    [ "$enabled $active" = "enabled inactive" ]
}
