# A service that fails whenever it starts, and is started again.
unit=/etc/systemd/system/log-shipper.service
make() {
    cat >$unit <<END
[Unit]
Description=Log shipper that misses its configuration
StartLimitIntervalSec=0
[Service]
Restart=always
RestartSec=5
ExecStart=/bin/sh -c 'echo "log-shipper: /etc/log-shipper.conf: no such file" >&2; exit 78'
[Install]
WantedBy=multi-user.target
END
    systemctl daemon-reload
    systemctl -q enable --now log-shipper.service
    date +%s >$lab/looping-since
}
undo() {
    systemctl -q disable --now log-shipper.service
    rm -f $unit $lab/looping-since
    systemctl daemon-reload
    systemctl reset-failed log-shipper.service 2>/dev/null
}
look() {
    restarts=$(systemctl show -P NRestarts log-shipper.service)
    echo "log-shipper.service was started again ${restarts:-0} times"
    [ "${restarts:-0}" -ge 3 ] && [ -e $unit ]
}
