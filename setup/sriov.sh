#!/bin/sh
# What a guest with SR-IOV needs: a QEMU whose igb has virtual functions, unpacked and never installed.
#
#   sh setup/sriov.sh     after setup/install.sh and setup/guest.sh
#
# Debian 12's own QEMU is older than igb; the one from bookworm-backports is unpacked below /var/cache/bmwg/qemu. Package
# lists and settings of apt on this machine stay as they are. A second run downloads nothing.
set -eu

cache=/var/cache/bmwg/qemu
program=$cache/root/usr/bin/qemu-system-x86_64
packages="qemu-system-x86 qemu-system-common qemu-system-data seabios"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

stop() {
    printf '%s\nhint: %s\n' "SR-IOV set-up stopped: $1" "$2" >&2
    exit 1
}

if [ -x "$program" ] && "$program" --version >/dev/null 2>&1; then
    echo "QEMU with virtual functions: unpacked already"
    exit 0
fi
mkdir -p "$cache"
draft=$(mktemp -d "$cache/draft.XXXXXX")
trap 'rm -rf "$draft"' EXIT
trap 'exit 1' HUP INT TERM # else the shell ends without the line above
chmod 755 "$draft"
mkdir -p "$draft/root" "$draft/debs" "$draft/lists/partial" "$draft/cache/archives/partial"
for suite in bookworm bookworm-backports; do
    echo "deb [signed-by=$keyring] http://deb.debian.org/debian $suite main"
done >"$draft/sources.list"
ours="-o Dir::Etc::sourcelist=$draft/sources.list -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root"
ours="$ours -o Dir::State::lists=$draft/lists -o Dir::Cache=$draft/cache"
# shellcheck disable=SC2086 # lists of options and names
timeout --foreground -k 10 300 apt-get $ours update -qq || stop "the package lists were not read" "is deb.debian.org reachable?"
wanted=
for name in $packages; do wanted="$wanted $name/bookworm-backports"; done
# shellcheck disable=SC2086 # lists of options and names
(cd "$draft/debs" && timeout --foreground -k 10 600 apt-get $ours download -qq $wanted >/dev/null 2>&1) ||
    stop "the packages were not downloaded: $wanted" "apt-get update, then run this again"
for file in "$draft"/debs/*.deb; do dpkg -x "$file" "$draft/root"; done
absent=$(ldd "$draft/root/usr/bin/qemu-system-x86_64" | sed -n 's/ => not found//p' | tr -d '\t' | tr '\n' ' ')
[ -z "$absent" ] || stop "libraries are missing: $absent" "sh setup/guest.sh first: its packages bring them"
rm -rf "$cache/root"
mv "$draft/root" "$cache/root"
"$program" --version | head -n 1
