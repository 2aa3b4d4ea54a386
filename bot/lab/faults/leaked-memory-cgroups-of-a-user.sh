# The same leak in a service of somebody's own, which their manager (systemd --user) starts again: no unit of the node's.
. "$lab/leaked-memory-cgroups.sh"
unit=/etc/systemd/user/ecs.service install='[Install]
WantedBy=default.target'
theirs() { XDG_RUNTIME_DIR=/run/user/$(id -u trainer) setpriv --reuid trainer --regid trainer --init-groups -- systemctl --user -q "$@"; }
make() {
    useradd --create-home trainer
    write_unit
    chown trainer /var/log/ecs
    loginctl enable-linger trainer
    until theirs daemon-reload 2>/dev/null; do sleep 1; done
    theirs enable --now ecs.service
}
undo() {
    theirs disable --now ecs.service
    loginctl disable-linger trainer
    systemctl stop user@$(id -u trainer).service
    userdel --remove trainer
    rm -rf $unit $state /var/log/ecs
}
look() {
    n=$(count)
    echo "$n memory cgroups are removed and not freed; ecs.service of trainer: $(theirs show -P NRestarts ecs.service) restarts"
    [ "$n" -ge 3000 ]
}
