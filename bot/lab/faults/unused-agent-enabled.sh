# An agent's package is in the image of a Kubernetes node, and starts at its next boot. It has not been started yet.
unit=/etc/systemd/system/ecs.service
make() {
    cat >$unit <<END
[Unit]
Description=Amazon Elastic Container Service - container agent
[Service]
ExecStart=/bin/false
[Install]
WantedBy=multi-user.target
END
    mkdir -p /etc/kubernetes
    touch /etc/kubernetes/kubelet.conf
    systemctl daemon-reload
    systemctl -q enable ecs.service
}
undo() {
    systemctl -q disable ecs.service
    rm -rf $unit /etc/kubernetes
    systemctl daemon-reload
}
look() {
    enabled=$(systemctl is-enabled ecs.service 2>/dev/null)
    echo "ecs.service is ${enabled:-not there} and $(systemctl is-active ecs.service)"
    [ "$enabled" = enabled ]
}
