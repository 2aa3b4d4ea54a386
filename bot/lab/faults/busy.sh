# Work that a node is there for: every core full of it, files written and read, processes and services that come and go.
unit=/etc/systemd/system/batch-job.service
make() {
    cat >$unit <<END
[Unit]
Description=Batch job that uses what there is
[Service]
ExecStart=/usr/bin/perl $lab/work.pl
Nice=5
END
    systemctl daemon-reload
    systemctl start batch-job.service
}
undo() {
    systemctl stop batch-job.service
    rm -rf $unit /var/lib/lab-work
    systemctl daemon-reload
}
look() {
    idle() { awk '$1 == "cpu" { print $5 + $6 }' /proc/stat; }
    before=$(idle)
    sleep 2
    busy=$((100 - ($(idle) - before) / 2 / $(nproc)))
    echo "all cores together are busy for $busy % of the time"
    [ $busy -ge 80 ]
}
