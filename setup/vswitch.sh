#!/bin/sh
# What the user-space networks need: Open vSwitch with DPDK, unpacked and never installed.
#
#   sh setup/vswitch.sh     after setup/install.sh; `sh setup/install.sh vswitch` does both
#
# The packages of a switch would start a service; these are only unpacked, below /var/cache/bmwg/vswitch, and each
# run starts a switch of its own. A second run downloads nothing.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
cache=/var/cache/bmwg/vswitch
program=$cache/root/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk
packages="openvswitch-switch-dpdk openvswitch-common openvswitch-switch"

stop() {
    printf '%s\nhint: %s\n' "vswitch set-up stopped: $1" "$2" >&2
    exit 1
}

wanted=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/debian-packages-vswitch.txt")
missing=
for name in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) || state=
    [ "$state" = installed ] || missing="$missing $name"
done
if [ -n "$missing" ]; then
    [ "$(id -u)" -eq 0 ] || stop "not root, and these packages are missing:$missing" \
        "as root: apt-get install --no-install-recommends$missing"
    echo "[1/2] system packages:$missing"
    # shellcheck disable=SC2086 # a list of names
    DEBIAN_FRONTEND=noninteractive timeout -k 10 600 apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=120 $missing >/dev/null ||
        stop "these packages were not installed:$missing" "apt-get install$missing by hand shows the cause"
else
    echo "[1/2] system packages: all are there"
fi
if [ -x "$program" ] && "$program" --version >/dev/null 2>&1; then
    echo "[2/2] Open vSwitch with DPDK: unpacked already"
    exit 0
fi
echo "[2/2] Open vSwitch with DPDK: unpacking $packages"
mkdir -p "$cache"
draft=$(mktemp -d "$cache/draft.XXXXXX")
trap 'rm -rf "$draft"' EXIT
trap 'exit 1' HUP INT TERM # else the shell ends without the line above
chmod 755 "$draft"
mkdir "$draft/root"
# shellcheck disable=SC2086 # a list of names
(cd "$draft" && timeout --foreground -k 10 300 apt-get download -qq $packages >/dev/null 2>&1) ||
    stop "the packages were not downloaded: $packages" "apt-get update, then run this again"
for file in "$draft"/*.deb; do dpkg -x "$file" "$draft/root"; done
rm -rf "$cache/root"
mv "$draft/root" "$cache/root"
absent=$(ldd "$program" | sed -n 's/ => not found//p' | tr -d '\t' | tr '\n' ' ')
[ -z "$absent" ] || stop "libraries are missing: $absent" "sh setup/install.sh first: its packages bring DPDK"
"$program" --version | head -n 1
