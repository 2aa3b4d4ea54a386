#!/usr/bin/perl
# Takes memory until little is left and keeps it. One reader streams a file through what remains, so that none of it
# stays free; two others take and drop more at once than the kernel keeps ready. They pause: the node is short of memory,
# not of cores.
use strict;
my ($file) = @ARGV;
my $leave_kib = 72 * 1024;

sub left { open my $in, '<', '/proc/meminfo' or die $!; while (<$in>) { return $1 - $leave_kib if /^MemAvailable:\s+(\d+)/ } }

my @held;
while ((my $kib = left()) > 0) { push @held, 'x' x (1024 * ($kib > 65536 ? 32768 : 1024)) }
my @work = ("cat $file >/dev/null", ('dd if=/dev/zero of=/dev/null bs=14M count=1 2>/dev/null') x 2);
for (@work) { exec '/bin/sh', '-c', "while :; do $_; sleep 0.3; done" unless fork }
sleep 1 while 1;
