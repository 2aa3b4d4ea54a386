# The root file system has no room left: one file takes what there was, as a log that nobody rotates would.
file=/var/log/lab-never-rotated.log
make() {
    left=$(df --output=avail -B1M / | tail -n 1)
    fallocate -l $((left - 6))M $file
}
undo() {
    rm -f $file
}
look() {
    free=$(df -Pk / | awk 'NR == 2 { print int(1000 * $4 / $2) }')
    echo "/ has $((free / 10)).$((free % 10)) % of its blocks left"
    [ "$free" -lt 10 ]
}
