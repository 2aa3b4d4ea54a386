#!/usr/bin/perl
# A process a core that computes, one that writes and reads files, and now and then a short service beside.
use strict;
my $folder = '/var/lib/lab-work';
mkdir $folder;
chomp(my $cores = `nproc`);
for (1 .. $cores) { if (!fork) { my $x = 0; for (;;) { $x = ($x * 31 + 7) % 65537 } } }
if (!fork) {
    for (;;) {
        for my $n (1 .. 20) {
            open my $out, '>', "$folder/$n" or die $!;
            print $out 'data ' x 20_000;
            close $out;
            open my $in, '<', "$folder/$n" or die $!;
            1 while <$in>;
        }
        select undef, undef, undef, 0.5;
    }
}
for (;;) { system 'systemd-run', '-q', '--collect', '/bin/true'; sleep 5 }
