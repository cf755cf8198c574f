#!/bin/sh
# Makes the root file system of the embedded OpenStack: Debian's own packages of it, unpacked beside this
# machine's system and never installed on it. No service is started but inside namespaces that end with this.
#
#   sh setup/openstack.sh
#
# A second run makes nothing. The root lies below /var/cache/bmwg/openstack (about 1.8 GB); whoever removes
# that folder gets the space back.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
python=$(dirname -- "$here")/.venv/bin/python
cache=/var/cache/bmwg/openstack
suite=bookworm

stop() {
    printf '%s\nhint: %s\n' "OpenStack set-up stopped: $1" "$2" >&2
    exit 1
}

[ "$(id -u)" -eq 0 ] || stop "not root" "run it as root: a root file system has files of many users"
[ -x "$python" ] || stop "$python is missing" "sh setup/install.sh first"
for program in mmdebstrap dpkg-deb flock; do
    command -v "$program" >/dev/null 2>&1 || stop "$program is missing" "apt-get install mmdebstrap dpkg util-linux"
done
wanted=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/debian-packages-openstack.txt")
recipe=1 # count up when the way in which the root is made changes
key=$( (echo "$suite $recipe" && echo "$wanted") | sha256sum | cut -c 1-16)
root=$cache/root-$key
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock -w 1800 9 || stop "another set-up holds $cache" "wait for it to end"

if [ -e "$root/.bmwg-complete" ]; then
    echo "[1/3] packages: the root is there ($root)"
else
    echo "[1/3] packages: making a root of Debian $suite with OpenStack (about 4 minutes)"
    work=$(mktemp -d "$cache/.making-XXXXXX")
    trap 'rm -rf --one-file-system "$work"' EXIT
    trap 'exit 1' HUP INT TERM # else the shell ends without the line above
    # nova-compute wants one of the packages that bring every QEMU that there is; x86 is enough
    mkdir -p "$work/stub/DEBIAN" "$work/settings"
    cat >"$work/stub/DEBIAN/control" <<STUB
Package: bmwg-nova-hypervisor
Version: 1
Architecture: all
Maintainer: none <root@localhost>
Provides: nova-compute-hypervisor
Description: stands for nova-compute-qemu, whose QEMU for x86 alone is installed
STUB
    dpkg-deb --build --root-owner-group "$work/stub" "$work/stub.deb" >/dev/null
    printf '#!/bin/sh\nexit 101\n' >"$work/policy-rc.d"
    chmod 755 "$work/policy-rc.d"
    apt-config dump | grep -E '^Acquire::(Check-|http|https)' >"$work/settings/99bmwg" || :
    sources=/etc/apt/sources.list.d/debian.sources
    [ -e "$sources" ] || sources=/etc/apt/sources.list
    list=$(echo "$wanted" | tr '\n' ' ')
    # what mmdebstrap mounts in the root, and what it runs, go with it, however it ends
    alone="unshare --mount --pid --fork --kill-child=SIGKILL --mount-proc"
    # shellcheck disable=SC2086 # a list of words
    timeout --foreground -k 5 1500 nice -n 10 $alone mmdebstrap --mode=root --variant=apt --format=directory \
        --aptopt="$work/settings/99bmwg" --aptopt='Acquire::Retries "3"' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='force-unsafe-io' \
        --customize-hook="copy-in $work/stub.deb /var/tmp" \
        --customize-hook="copy-in $work/policy-rc.d /usr/sbin" \
        --customize-hook="chroot \"\$1\" sh -c 'groupadd -r kvm; groupadd -r -g 64055 libvirt-qemu; useradd -r -u 64055 -g libvirt-qemu -G kvm libvirt-qemu; groupadd -r libvirt'" \
        --customize-hook="chroot \"\$1\" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /var/tmp/stub.deb $list" \
        --customize-hook='rm -f "$1/usr/sbin/policy-rc.d" "$1/var/tmp/stub.deb"' \
        $suite "$work/root" "$sources" ||
        stop "the root was not made" "the lines above say why; apt-get update renews the package lists"
    touch "$work/root/.bmwg-complete"
    mv "$work/root" "$root"
    rm -rf --one-file-system "$work"
    trap - EXIT HUP INT TERM
fi
echo "[2/3] services: settings and data bases"
timeout --foreground -k 10 900 "$python" -m bmwg.drivers.openstack.template "$root" ||
    stop "the services were not prepared" "the lines above say why"
echo "[3/3] image for servers"
timeout --foreground -k 10 900 "$python" -m bmwg.drivers.openstack.image "$root" ||
    stop "the image was not made" "the lines above say why"
