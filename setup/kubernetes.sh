#!/bin/sh
# Builds the programs of the embedded Kubernetes cluster from Go modules, pinned below setup/kubernetes.
# Called by `sh setup/install.sh kubernetes`; a second run does nothing. Needs no root.
# SETUP_KUBERNETES names a minor version (1.34, the default, or 1.33); each has a folder of its own in the cache.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
cache=${1:-/var/cache/bmwg/kubernetes}
go_wanted=go1.24.6  # for a machine whose Go is older than go.mod asks: fetched as a module
wait_s=2900         # below the deadline of setup/install.sh

default=1.34
minor=${SETUP_KUBERNETES:-$default}
modules=$here/kubernetes
if [ "$minor" != "$default" ]; then modules=$modules/$minor; fi
if [ ! -f "$modules/go.mod" ]; then
    known=$(cd "$here/kubernetes" && for one in */go.mod; do printf ' %s' "${one%/*}"; done)
    echo "SETUP_KUBERNETES=$minor: expected $default or one of$known" >&2
    exit 2
fi
known_as() { # the names by which a testbed file finds it
    ln -sfn "$programs" "$cache/$minor"
    if [ "$minor" = "$default" ]; then ln -sfn "$programs" "$cache/current"; fi
    echo "Kubernetes $kubernetes: $programs"
}

version_of() { sed -n "s|^[[:space:]]*$1 \(v[0-9.]*\).*|\1|p" "$modules/go.mod" | head -n 1; }
kubernetes=$(version_of k8s.io/kubernetes)
etcd=$(version_of go.etcd.io/etcd/server/v3)
if [ -z "$kubernetes" ] || [ -z "$etcd" ]; then
    echo "$modules/go.mod names no version of k8s.io/kubernetes or etcd" >&2
    exit 1
fi
sources=$(cat "$modules/go.mod" "$modules/go.sum" "$0" | sha256sum | cut -c 1-12)
programs=$cache/$kubernetes-$sources
if [ -f "$programs/versions" ]; then
    known_as
    exit 0
fi

mkdir -p "$cache"
exec 9>"$cache/.lock" # of two checkouts set up at once, one builds and the other finds it done
if ! flock -w "$wait_s" 9; then
    echo "$cache/.lock: another set-up has held it for $wait_s s; nothing was built" >&2
    exit 1
fi
if [ -f "$programs/versions" ]; then
    known_as
    exit 0
fi

new_enough() { # Go 1.21 and later fetch the toolchain that go.mod asks for
    "$1" version 2>/dev/null | grep -Eq 'go1\.(2[1-9]|[3-9][0-9])'
}
go=
for one in go /usr/local/go/bin/go /usr/lib/go/bin/go; do
    if new_enough "$one"; then
        go=$one
        break
    fi
done
if [ -z "$go" ]; then
    # The Go toolchain is a module, too: its archive from the module proxy, as `go` itself would fetch it.
    tools=$cache/$go_wanted
    if [ ! -x "$tools/bin/go" ]; then
        proxy=${GOPROXY:-https://proxy.golang.org}
        proxy=${proxy%%[,|]*}
        module=golang.org/toolchain@v0.0.1-$go_wanted.linux-$(dpkg --print-architecture)
        python3 "$here/kubernetes/toolchain.py" "$proxy" "$module" "$tools"
    fi
    go=$tools/bin/go
fi
case "$("$go" version)" in
*go1.2[123]*) export GOTOOLCHAIN=$go_wanted ;;
*) export GOTOOLCHAIN=local ;;
esac

rm -rf "$programs.new"
mkdir -p "$programs.new"
cd "$modules"
stamp=k8s.io/component-base/version
export CGO_ENABLED=0 GOFLAGS=-mod=readonly
build() { # NAME PACKAGE
    echo "building $1"
    nice "$go" build -trimpath -buildvcs=false -o "$programs.new/$1" -ldflags \
        "-s -w -X $stamp.gitVersion=$kubernetes -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor#*.} -X $stamp.gitTreeState=clean" "$2"
}
for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy; do
    build "$name" "k8s.io/kubernetes/cmd/$name"
done
build etcd go.etcd.io/etcd/server/v3
{
    echo "kubernetes $kubernetes"
    echo "etcd $etcd"
    echo "go $("$go" env GOVERSION)"
    (cd "$programs.new" && sha256sum kube* etcd | sed 's/^\([0-9a-f]*\) *\(.*\)$/sha256 \2 \1/')
} >"$programs.new/versions"
rm -rf "$programs"
mv "$programs.new" "$programs"
known_as
