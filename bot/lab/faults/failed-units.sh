# A nightly job that fails.
make() {
    cat >/etc/systemd/system/backup.service <<END
[Unit]
Description=Nightly backup
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo "backup: no space left on the target" >&2; exit 3'
END
    systemctl daemon-reload
    systemctl start backup.service || true
}
undo() {
    rm -f /etc/systemd/system/backup.service
    systemctl reset-failed backup.service
    systemctl daemon-reload
}
look() {
    echo "backup.service is $(systemctl is-failed backup.service)"
    systemctl -q is-failed backup.service
}
