# Two programs that want more memory than there is: one holds nearly all of it, one reads files past what is left.
unit=/etc/systemd/system/trainer.service
other=/etc/systemd/system/loader.service
stalls() { awk '$1 ~ /^allocstall/ { n += $2 } END { print n + 0 }' /proc/vmstat; }
available() { awk '$1 == "MemTotal:" { t = $2 } $1 == "MemAvailable:" { print int($2 * 100 / t) }' /proc/meminfo; }
make() {
    truncate -s 3G /var/lib/lab-data
    cat >$unit <<END
[Unit]
Description=Trainer that holds nearly all memory
[Service]
OOMScoreAdjust=900
Restart=always
ExecStart=/usr/bin/perl $lab/hold-memory.pl
END
    cat >$other <<END
[Unit]
Description=Loader that reads more than fits
[Service]
OOMScoreAdjust=-900
ExecStart=/bin/sh -c 'for n in 1 2 3; do while :; do cat /var/lib/lab-data >/dev/null; done & done; wait'
END
    systemctl daemon-reload
    systemctl start loader.service trainer.service
}
undo() {
    systemctl stop loader.service trainer.service
    rm -f $unit $other /var/lib/lab-data
    systemctl daemon-reload
}
look() {
    before=$(stalls)
    sleep 3
    rise=$(($(stalls) - before))
    echo "$rise allocations reclaimed for themselves within 3 s; $(available) % of the memory is available"
    [ $rise -ge 30 ] && [ "$(available)" -lt 10 ]
}
