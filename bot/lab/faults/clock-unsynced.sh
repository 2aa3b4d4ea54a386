# chrony keeps the time by a server that knows it, and somebody sets the node's clock wrong by three minutes.
make() {
    cp /etc/chrony/chrony.conf $lab/chrony.conf
    echo 'server 127.0.0.1 port 11123 iburst minpoll 0 maxpoll 0' >/etc/chrony/chrony.conf
    systemd-run -q --collect --unit time-server /usr/bin/perl $lab/time-server.pl 11123
    systemctl -q unmask chrony.service
    systemctl start chrony.service
    chronyc -n waitsync 60 0.5 0 1 >/dev/null
    date -s '+3 minutes' >/dev/null
}
undo() {
    tries=0
    while look >/dev/null && [ $((tries += 1)) -le 30 ]; do
        chronyc -n makestep >/dev/null
        sleep 1
    done
    systemctl stop chrony.service time-server.service
    systemctl -q mask chrony.service
    cp $lab/chrony.conf /etc/chrony/chrony.conf
}
look() {
    off=$(chronyc -n tracking 2>/dev/null | sed -n 's/^System time *: \([0-9]*\)\..*/\1/p')
    echo "chrony says that the clock is ${off:-an unknown number of} s off"
    [ "${off:-0}" -ge 30 ]
}
