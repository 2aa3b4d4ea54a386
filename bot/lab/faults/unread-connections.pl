#!/usr/bin/perl
# Connections within this machine, full of data that nobody reads.
use strict;
use IO::Socket::INET;

my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 11124, Listen => 64, ReuseAddr => 1) or die $!;
my @held;
for (1 .. 60) {
    my $sender = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => 11124) or die $!;
    push @held, $sender, $server->accept;
    $sender->blocking(0);
    for (1 .. 8) { defined syswrite $sender, 'x' x 65536 or last }
}
sleep;
