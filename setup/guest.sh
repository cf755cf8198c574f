#!/bin/sh
# What virtual machines need, after setup/install.sh: QEMU, and a kernel that is unpacked and never installed.
#
#   sh setup/guest.sh
#
# A second run installs and downloads nothing. The kernel lies below /var/cache/bmwg/guest.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
python=$(dirname -- "$here")/.venv/bin/python

stop() {
    printf '%s\nhint: %s\n' "guest set-up stopped: $1" "$2" >&2
    exit 1
}

[ -x "$python" ] || stop "$python is missing" "sh setup/install.sh first"
wanted=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/debian-packages-vm.txt")
missing=
for name in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) || state=
    [ "$state" = installed ] || missing="$missing $name"
done
if [ -n "$missing" ]; then
    [ "$(id -u)" -eq 0 ] || stop "not root, and these packages are missing:$missing" \
        "as root: apt-get install --no-install-recommends$missing"
    echo "[1/2] system packages:$missing"
    timeout -k 10 300 apt-get update -qq || echo "      apt-get update did not end well"
    # shellcheck disable=SC2086 # a list of names
    DEBIAN_FRONTEND=noninteractive timeout -k 10 1200 apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=120 $missing >/dev/null ||
        stop "these packages were not installed:$missing" "apt-get install$missing by hand shows the cause"
else
    echo "[1/2] system packages: all are there"
fi
echo "[2/2] guest kernel"
timeout -k 10 900 "$python" -m bmwg.drivers.machines.guest_kernel ||
    stop "no guest kernel was unpacked" "the lines above say why; apt-get update renews the package lists"
