#!/usr/bin/perl
# Tells the time by NTP (RFC 5905, figure 8) as it was when this began, plus what went by since: whoever sets this very
# node's clock wrong does not move it, nor does chrony, which turns what /proc/uptime counts by. The time since is
# CLOCK_MONOTONIC_RAW's (4), by clock_gettime (228 on x86-64).
use strict;
use Socket;
my ($port) = @ARGV;
sub up { my $at = pack 'qq', 0, 0; syscall(228, 4, $at) == 0 or die $!; my ($s, $ns) = unpack 'qq', $at; $s + $ns / 1e9 }
chomp(my $began = `date +%s.%N`);
my $base = $began - up();
sub stamp { my $now = $base + up() + 2_208_988_800; return pack 'NN', int $now, ($now - int $now) * 4_294_967_296 }

socket(my $socket, PF_INET, SOCK_DGRAM, 0) or die $!;
bind $socket, pack_sockaddr_in($port, INADDR_LOOPBACK) or die $!;
while (my $from = recv $socket, my $asked, 512, 0) {
    next if length $asked < 48;
    my $came = stamp();
    # A server (mode 4) of version 4 and stratum 3, precise to 1/64 s; the asker's own time is handed back.
    my $answer = pack('CCcc N N a4', 0x24, 3, 0, -6, 0, 0x400, 'LAB ') . $came . substr($asked, 40, 8) . $came . stamp();
    send $socket, $answer, 0, $from;
}
