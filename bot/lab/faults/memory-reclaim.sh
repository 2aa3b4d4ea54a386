# A job that holds nearly all memory, on a node whose reserves were tuned small: kswapd begins too late to have ready what
# the job wants, and the job must win it back for itself. Programs' own pages stay, so that the node still answers.
unit=/etc/systemd/system/training-job.service
file=/var/lib/lab-data
make() {
    dd if=/dev/zero of=$file bs=1M count=256 2>/dev/null
    sysctl -n vm.min_free_kbytes vm.watermark_scale_factor >$lab/reserves
    sysctl -q -w vm.min_free_kbytes=2048 vm.watermark_scale_factor=1
    cat >$unit <<END
[Unit]
Description=Training job that holds nearly all memory and streams its data
[Service]
ExecStart=/usr/bin/perl $lab/hold-memory.pl $file
END
    systemctl daemon-reload
    systemctl start training-job.service
}
undo() {
    systemctl stop training-job.service
    { read -r free && read -r scale; } <$lab/reserves
    sysctl -q -w vm.min_free_kbytes=$free vm.watermark_scale_factor=$scale
    rm -f $unit $file
    systemctl daemon-reload
}
look() {
    stalls() { awk '/^allocstall/ { n += $2 } END { print n }' /proc/vmstat; }
    before=$(stalls)
    sleep 2
    rise=$(($(stalls) - before))
    left=$(awk '$1 == "MemTotal:" { t = $2 } $1 == "MemAvailable:" { print int(1000 * $2 / t) }' /proc/meminfo)
    echo "$rise allocations stalled within 2 s; $((left / 10)).$((left % 10)) % of the memory is available"
    [ $rise -ge 20 ] && [ $left -lt 50 ]
}
