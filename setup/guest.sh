#!/bin/sh
# What virtual machines need, after setup/install.sh: QEMU, and a kernel that is unpacked and never installed.
#
#   sh setup/guest.sh          guests of this machine's architecture, whose root is this machine's
#   sh setup/guest.sh arm64    also guests of arm64 (or amd64): their emulator, and a root of Debian's packages
#
# A second run installs and downloads nothing. Kernel and roots lie below /var/cache/bmwg/guest.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
python=$(dirname -- "$here")/.venv/bin/python
cache=/var/cache/bmwg/guest/roots

stop() {
    printf '%s\nhint: %s\n' "guest set-up stopped: $1" "$2" >&2
    exit 1
}
listed() { sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' "$@"; }

[ $# -le 1 ] || stop "more than one word: $*" "one architecture: amd64 or arm64"
own=$(dpkg --print-architecture)
other=${1:-$own}
steps=3
if [ "$other" = "$own" ]; then steps=2; fi
case "$other" in
amd64) emulator=qemu-system-x86 ;;
arm64) emulator=qemu-system-arm ;;
*) stop "no guests of architecture '$other'" "amd64 or arm64" ;;
esac

[ -x "$python" ] || stop "$python is missing" "sh setup/install.sh first"
wanted=$(listed "$here/debian-packages-vm.txt")
if [ "$own" = arm64 ]; then wanted=$(echo "$wanted" | sed 's/qemu-system-x86/qemu-system-arm/'); fi
if [ $steps -eq 3 ]; then wanted="$wanted $emulator mmdebstrap"; fi
missing=
for name in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) || state=
    [ "$state" = installed ] || missing="$missing $name"
done
if [ -n "$missing" ]; then
    [ "$(id -u)" -eq 0 ] || stop "not root, and these packages are missing:$missing" \
        "as root: apt-get install --no-install-recommends$missing"
    echo "[1/$steps] system packages:$missing"
    timeout -k 10 300 apt-get update -qq || echo "      apt-get update did not end well"
    # shellcheck disable=SC2086 # a list of names
    DEBIAN_FRONTEND=noninteractive timeout -k 10 1200 apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=120 $missing >/dev/null ||
        stop "these packages were not installed:$missing" "apt-get install$missing by hand shows the cause"
else
    echo "[1/$steps] system packages: all are there"
fi
echo "[2/$steps] guest kernel"
timeout --foreground -k 10 900 "$python" -m bmwg.drivers.machines.guest_kernel ||
    stop "no guest kernel was unpacked" "the lines above say why; apt-get update renews the package lists"
[ $steps -eq 3 ] || exit 0

# Nothing of that architecture runs here: packages are unpacked, and what their scripts would do is left out.
list=$(listed "$here/debian-packages-guest-root.txt" | tr '\n' ',')linux-image-$other
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
grep -q '^ID=debian$' /etc/os-release ||
    stop "a root of $other is made of Debian's packages, and this is no Debian" "a Debian host; guests of $own need none"
[ "$(id -u)" -eq 0 ] || stop "not root" "run it as root: a root file system has files of many users"
recipe=2 # count up when the way in which the root is made changes
key=$(echo "$suite $recipe $list" | sha256sum | cut -c 1-16)
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock -w 1800 9 || stop "another set-up holds $cache" "wait for it to end"
if [ "$(cat "$cache/$other/etc/bmwg-root" 2>/dev/null)" = "$key" ]; then
    echo "[3/3] root of $other: it is there ($cache/$other)"
    exit 0
fi
echo "[3/3] root of $other: Debian $suite, unpacked (some minutes)"
work=$(mktemp -d "$cache/.making-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' HUP INT TERM # else the shell ends without the line above
apt-config dump | grep -E '^Acquire::(Check-|http|https)' >"$work/settings" || :
sources=/etc/apt/sources.list.d/debian.sources
[ -e "$sources" ] || sources=/etc/apt/sources.list
# what mmdebstrap mounts in the root, and what it runs, go with it, however it ends
alone="unshare --mount --pid --fork --kill-child=SIGKILL --mount-proc"
# shellcheck disable=SC2016,SC2086 # $1 is the root, of each hook; a list of words
timeout --foreground -k 5 1500 nice -n 10 $alone mmdebstrap --mode=root --variant=extract --format=directory --skip=check/qemu \
    --architectures="$other" --aptopt="$work/settings" --aptopt='Acquire::Retries "3"' --include="$list" \
    --setup-hook='for name in bin sbin lib lib64; do mkdir -p "$1/usr/$name"; ln -s "usr/$name" "$1/$name"; done' \
    "$suite" "$work/root" "$sources" ||
    stop "the root of $other was not made" "the lines above say why; apt-get update renews the package lists"
cp "$work/root/usr/share/base-passwd/passwd.master" "$work/root/etc/passwd"
cp "$work/root/usr/share/base-passwd/group.master" "$work/root/etc/group"
"$python" -m bmwg.drivers.machines.guest_kernel "$work/root/usr/lib/modules" ||
    stop "the modules were not unpacked" "the lines above say why"
depmod -b "$work/root" "$(ls "$work/root/usr/lib/modules")" || stop "depmod failed" "the lines above say why"
echo "$key" >"$work/root/etc/bmwg-root"
rm -rf --one-file-system "${cache:?}/$other"
mv "$work/root" "$cache/$other"
echo "      $cache/$other"
