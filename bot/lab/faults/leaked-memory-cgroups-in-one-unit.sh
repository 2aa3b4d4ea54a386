# The same leak where systemd sees nothing: the agent's runs follow one another inside one unit that is well.
. "$lab/leaked-memory-cgroups.sh"
service='Environment=IN_ONE_UNIT=1'
