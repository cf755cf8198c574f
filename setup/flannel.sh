#!/bin/sh
# Builds flanneld and flannel's CNI plugin from Go modules, pinned below setup/flannel. Called by
# `sh setup/install.sh kubernetes` after setup/kubernetes.sh; a second run does nothing. Needs no root.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
cache=${1:-/var/cache/bmwg/flannel}
plugins=/usr/lib/cni # the distribution's, to which flannel's plugin delegates
wait_s=1100          # below the deadline of setup/install.sh

version_of() { sed -n "s|^[[:space:]]*\(require \)\{0,1\}$2 \(v[0-9.]*\).*|\2|p" "$here/flannel/$1go.mod" | head -n 1; }
flannel=$(version_of '' github.com/flannel-io/flannel)
plugin=$(version_of cni/ github.com/containernetworking/plugins)
if [ -z "$flannel" ] || [ -z "$plugin" ]; then
    echo "$here/flannel names no version of flannel or of its plugin" >&2
    exit 1
fi
sources=$(cat "$here/flannel/go.mod" "$here/flannel/go.sum" "$here/flannel/cni/go.mod" "$here/flannel/cni/go.sum" "$here/flannel/vpc/v20170312/none.go" "$0" |
    sha256sum | cut -c 1-12)
programs=$cache/$flannel-$sources
if [ -f "$programs/versions" ]; then
    echo "flannel $flannel: $programs"
    exit 0
fi

mkdir -p "$cache"
exec 9>"$cache/.lock" # of two checkouts set up at once, one builds and the other finds it done
if ! flock -w "$wait_s" 9; then
    echo "$cache/.lock: another set-up has held it for $wait_s s; nothing was built" >&2
    exit 1
fi
if [ -f "$programs/versions" ]; then
    echo "flannel $flannel: $programs"
    exit 0
fi

go=
for one in go /usr/local/go/bin/go /usr/lib/go/bin/go /var/cache/bmwg/kubernetes/go1.*/bin/go; do
    if "$one" version 2>/dev/null | grep -Eq 'go1\.(2[1-9]|[3-9][0-9])'; then
        go=$one
        break
    fi
done
if [ -z "$go" ]; then
    echo "no Go of 1.21 or later: 'sh setup/kubernetes.sh' fetches one" >&2
    exit 1
fi

rm -rf "$programs.new"
mkdir -p "$programs.new/cni"
# An older Go fetches the toolchain that go.mod asks for, as a module. flanneld links its UDP backend, which has C.
export CGO_ENABLED=1 GOFLAGS=-mod=readonly GOTOOLCHAIN=auto
build() { # FOLDER OUTPUT PACKAGE FLAGS
    echo "building $2"
    (cd "$here/flannel/$1" && nice "$go" build -trimpath -buildvcs=false -o "$programs.new/$2" -ldflags "-s -w $4" "$3")
}
build . flanneld github.com/flannel-io/flannel "-X github.com/flannel-io/flannel/pkg/version.Version=$flannel"
build cni cni/flannel github.com/containernetworking/plugins/plugins/meta/flannel \
    "-X github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=$plugin"
for one in "$plugins"/*; do
    ln -s "$one" "$programs.new/cni/${one##*/}" 2>/dev/null || true # flannel's own stays
done
{
    echo "flannel $flannel"
    echo "plugin $plugin"
    echo "go $("$go" env GOVERSION)"
    (cd "$programs.new" && sha256sum flanneld cni/flannel | sed 's/^\([0-9a-f]*\) *\(.*\)$/sha256 \2 \1/')
} >"$programs.new/versions"
rm -rf "$programs"
mv "$programs.new" "$programs"
ln -sfn "$programs" "$cache/current"
echo "flannel $flannel: $programs"
