#!/bin/sh
# Installs Suricata, the IPS of function `suricata`. Debian 13 has it. Debian 12 has it in bookworm-backports alone: that
# is read with a list of its own, and two packages are taken from there (3.3 MB), so that nothing else ever comes from it.
# A second run does nothing. Root; as `install.sh`, it starts no service.
set -eu

if command -v suricata >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" -ne 0 ]; then
    echo "not root: run it as root" >&2
    exit 1
fi
work=$(mktemp -d)
policy=/usr/sbin/policy-rc.d
ours=no
cleanup() {
    rm -rf "$work"
    if [ "$ours" = yes ]; then rm -f "$policy"; fi
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
if [ ! -e "$policy" ]; then
    ours=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
if apt-cache policy suricata 2>/dev/null | grep -q 'Candidate: [0-9]'; then
    timeout 900 apt-get install -y -q --no-install-recommends suricata iptables
    exit 0
fi
. /etc/os-release
if [ "${VERSION_CODENAME:-}" != bookworm ]; then
    echo "suricata: no package for $PRETTY_NAME" >&2
    exit 1
fi
mkdir -p "$work/lists/partial"
echo "deb http://deb.debian.org/debian bookworm-backports main" >"$work/backports.list"
backports() {
    timeout 300 apt-get -q -o Dir::Etc::sourcelist="$work/backports.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work" "$@"
}
backports update
cd "$work"
backports download suricata libhtp2
timeout 900 apt-get install -y -q --no-install-recommends iptables ./libhtp2_*.deb ./suricata_*.deb
