#!/usr/bin/perl
# Eight processes, each of which writes a file of its own in a folder, ten times a second.
use strict;
my $folder = shift;
for (1 .. 7) { last unless fork }
for (;;) {
    open my $file, '>', "$folder/$$" or die $!;
    print $file 'x';
    close $file;
    select undef, undef, undef, 0.1;
}
