#!/bin/sh
# What the toolkit needs of the machine below it, one line each: run inside a container made by cold.py.
set -u
failed=0
try() {
    what=$1
    shift
    if out=$("$@" 2>&1); then echo "ok      $what"; else
        failed=$((failed + 1))
        echo "FAILED  $what: $out" | tail -n 3
    fi
}
work=$(mktemp -d)
id=bmwg-probe-$$

try "namespaces: network, mount, UTS, with sysfs of their own" \
    unshare --net --mount --uts --propagation private sh -c 'mount -t sysfs sysfs /sys && ls /sys/class/net | grep -qx lo'
try "veth pair inside a network namespace" \
    unshare --net sh -c 'ip link add pa type veth peer name pb && ip link set pa up && ip link set pb up'
try "bridge inside a network namespace" unshare --net ip link add name br0 type bridge
try "macvlan inside a network namespace" \
    unshare --net sh -c 'ip link add pa type veth peer name pb && ip link add name mv link pa type macvlan mode bridge'
try "threaded NAPI: switch in the namespace's own sysfs, and its kernel thread in sight" \
    unshare --net --mount --propagation private sh -c \
    'mount -t sysfs sysfs /sys && ip link add pa type veth peer name pb && ethtool -K pa gro on &&
     ip link set pa up && ip link set pb up && echo 1 >/sys/class/net/pa/threaded &&
     grep -qs "^napi/pa" /proc/[0-9]*/comm'
mkdir "$work/root"
cat >"$work/config.json" <<JSON
{"ociVersion": "1.0.0", "root": {"path": "$work/root", "readonly": true},
 "process": {"args": ["/bin/true"], "cwd": "/", "user": {"uid": 0, "gid": 0}, "env": ["PATH=/bin"]},
 "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
 "linux": {"cgroupsPath": "/$id", "resources": {"memory": {"limit": 67108864}, "cpu": {"cpus": "0"}},
           "namespaces": [{"type": "mount"}, {"type": "pid"}, {"type": "network"}, {"type": "uts"}, {"type": "ipc"}]}}
JSON
# crun refuses the hybrid of both cgroup versions when version 2 has controllers, so show it version 1 alone
try "crun: container on the host's root, memory and cpuset limits" \
    unshare --mount --propagation private sh -c \
    'mountpoint -q /sys/fs/cgroup/unified && umount /sys/fs/cgroup/unified
     mount --bind / "$0" && exec "$@"' "$work/root" \
    crun --root="$work/state" --cgroup-manager=cgroupfs run --bundle="$work" "$id"
for device in net_af_xdp,iface=pa net_af_packet0,iface=pa; do
    try "DPDK port $device on a veth" unshare --net sh -c "
        ip link add pa type veth peer name pb && ip link set pa up && ip link set pb up &&
        timeout -k 5 30 dpdk-testpmd -l 0-1 --no-huge -m 128 --no-pci --file-prefix=$id --vdev '$device' \
            -- --total-num-mbufs=2048 </dev/null >$work/dpdk.log 2>&1
        grep -q '^Port 0: ' $work/dpdk.log || { tail -n 3 $work/dpdk.log; exit 1; }"
done
rm -rf --one-file-system "$work" "/run/dpdk/$id"
echo "$failed failed"
[ "$failed" -eq 0 ]
