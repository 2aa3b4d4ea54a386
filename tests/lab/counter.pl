#!/usr/bin/perl
# Writes down once a second, from boot to boot: the time, which boot it is, how many memory cgroups are removed and not
# freed, and whether ecs.service is enabled. It reads one file a second (on v1 and the tree of live ones), so that what
# is counted does not feel it.
use strict;
use Time::HiRes qw(time sleep);

sub first { open my $file, '<', shift or return ''; my $line = <$file>; chomp $line; $line }

sub folders { my $path = shift; my $n = 1;
    opendir my $in, $path or return 0;
    for (readdir $in) { $n += folders("$path/$_") if !/^\./ && -d "$path/$_" }
    $n }

sub dying {
    if (open my $stat, '<', '/sys/fs/cgroup/cgroup.stat') { while (<$stat>) { return $1 if /^nr_dying_descendants (\d+)/ } }
    open my $all, '<', '/proc/cgroups' or return -1;
    while (<$all>) { return $1 - folders('/sys/fs/cgroup/memory') if /^memory\s+\d+\s+(\d+)/ }
    -1 }

my $boot = first('/proc/sys/kernel/random/boot_id');
open my $out, '>>', '/var/lib/lab-counts.csv' or die $!;
$out->autoflush(1) if $out->can('autoflush');
for (;;) {
    my $enabled = -e '/etc/systemd/system/multi-user.target.wants/ecs.service' ? 1 : 0;
    syswrite $out, sprintf("%.2f,%s,%d,%d\n", time, $boot, dying(), $enabled);
    sleep(1 - (time - int(time)));
}
