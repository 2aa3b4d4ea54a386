#!/usr/bin/perl
# Keeps MANY echo requests under way to an address: each reply is answered with the next request, so that whoever replies
# is never idle and never has more than MANY before it.
use strict;
use Socket qw(:DEFAULT);
my ($to, $many) = @ARGV;
socket(my $wire, AF_INET, SOCK_RAW, getprotobyname('icmp') // 1) or die $!;
# Room for every reply: one that is dropped here is never answered by a request, and the flood would run dry.
setsockopt $wire, SOL_SOCKET, 33, pack('i', 8 << 20) or die $!; # SO_RCVBUFFORCE
my $address = pack_sockaddr_in(0, inet_aton($to));

sub ask {
    my ($number) = @_;
    my $text = pack 'CCnnn', 8, 0, 0, $$ & 0xffff, $number & 0xffff;
    my $sum = 0;
    $sum += $_ for unpack 'n*', $text;
    $sum = ($sum >> 16) + ($sum & 0xffff) while $sum >> 16;
    substr($text, 2, 2) = pack 'n', ~$sum & 0xffff;
    send $wire, $text, 0, $address;
}

ask(my $number = $_) for 1 .. $many;
for (;;) {
    my $ready = ''; vec($ready, fileno $wire, 1) = 1;
    if (!select $ready, undef, undef, 1) { ask($number++) for 1 .. $many; next } # lost: begin again
    recv $wire, my $said, 1500, 0;
    ask($number++) if ord(substr $said, 20, 1) == 0;
}
