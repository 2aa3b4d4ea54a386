# A service opens files until none is left that the machine may have open at once; root alone may open more.
unit=/etc/systemd/system/file-hoarder.service
room=8000 left=600
make() {
    cat /proc/sys/fs/file-max >$lab/file-max
    sysctl -q -w fs.file-max=$(($(cut -f1 /proc/sys/fs/file-nr) + room))
    cat >$unit <<END
[Unit]
Description=Service that opens files and closes none
[Service]
User=nobody
LimitNOFILE=100000
ExecStart=/usr/bin/perl /usr/local/lib/lab/hold-files.pl $left
END
    systemctl daemon-reload
    systemctl start file-hoarder.service
}
undo() {
    systemctl stop file-hoarder.service
    rm -f $unit
    systemctl daemon-reload
    sysctl -q -w fs.file-max=$(cat $lab/file-max)
}
look() {
    set -- $(cat /proc/sys/fs/file-nr)
    told=$(dmesg | grep -c 'VFS: file-max limit')
    echo "$1 files of $3 are open; the kernel told of its limit $told times"
    [ $1 -ge $(($3 / 100 * 90)) ] && [ "$told" -ge 1 ]
}
