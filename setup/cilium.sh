#!/bin/sh
# Builds Cilium's agent and CNI plugin from its Go module, pinned in setup/cilium/versions, and unpacks the compiler that
# the agent calls. `sh setup/install.sh cilium` calls it after setup/kubernetes.sh; a second run does nothing.
#
# The compiler's packages are unpacked below the cache and not installed: this machine's clang stays what it is.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
cache=${1:-/var/cache/bmwg/cilium}
plugins=/usr/lib/cni # the distribution's: Cilium's plugin has one of them give the address
compiler="clang-19 libclang-common-19-dev libclang-cpp19 libllvm19"
wait_s=3500 # below the deadline of setup/install.sh

pinned() { sed -n "s|^$1 ||p" "$here/cilium/versions" | cut -d ' ' -f "$2"; }
cilium=$(pinned cilium 2)
gobgp=$(pinned gobgp 2)
if [ -z "$cilium" ] || [ -z "$gobgp" ]; then
    echo "$here/cilium/versions names no version of cilium or gobgp" >&2
    exit 1
fi
sources=$(cat "$here/cilium/versions" "$0" | sha256sum | cut -c 1-12)
programs=$cache/$cilium-$sources
known() { # what a run looks for
    ln -sfn "$programs" "$cache/current"
    echo "Cilium $cilium: $programs"
}
if [ -f "$programs/versions" ]; then
    known
    exit 0
fi

mkdir -p "$cache"
exec 9>"$cache/.lock" # of two checkouts set up at once, one builds and the other finds it done
if ! flock -w "$wait_s" 9; then
    echo "$cache/.lock: another set-up has held it for $wait_s s; nothing was built" >&2
    exit 1
fi
if [ -f "$programs/versions" ]; then
    known
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
# An older Go fetches the toolchain that Cilium's go.mod asks for, as a module.
export CGO_ENABLED=0 GOTOOLCHAIN=auto GOFLAGS=-mod=mod

rm -rf "$programs.new"
mkdir -p "$programs.new/cni" "$programs.new/lib" "$programs.new/bin" "$programs.new/compiler"
fetched() { # NAME: the module's folder, if its hash is the pinned one
    "$go" mod download -json "$(pinned "$1" 1)@$(pinned "$1" 2)" >"$programs.new/$1.json"
    sum=$(sed -n 's/.*"Sum": "\(.*\)".*/\1/p' "$programs.new/$1.json")
    if [ "$sum" != "$(pinned "$1" 3)" ]; then
        echo "$(pinned "$1" 1) $(pinned "$1" 2): expected $(pinned "$1" 3), found '$sum'" >&2
        exit 1
    fi
    sed -n 's/.*"Dir": "\(.*\)".*/\1/p' "$programs.new/$1.json"
    rm "$programs.new/$1.json"
}
module=$(fetched cilium)
fetched gobgp >/dev/null
cp -r "$module" "$programs.new/src"
chmod -R u+w "$programs.new/src"
(
    cd "$programs.new/src"
    "$go" mod edit -replace "$(pinned gobgp 1)=$(pinned gobgp 1)@$gobgp"
    for one in "plugins/cilium-cni ../cni/cilium-cni" "daemon ../cilium-agent"; do
        echo "building ${one##*/}"
        nice "$go" build -trimpath -buildvcs=false -o "${one##* }" \
            -ldflags "-s -w -X github.com/cilium/cilium/pkg/version.ciliumVersion=${cilium#v}" "./${one%% *}"
    done
    cp -r bpf ../lib/bpf # the agent compiles it for the node and for each pod
)
rm -rf "$programs.new/src"

echo "unpacking $compiler"
(
    cd "$programs.new/compiler"
    # shellcheck disable=SC2086 # a list of names
    timeout -k 10 600 apt-get download -qq $compiler >/dev/null || {
        echo "not downloaded: $compiler; apt-get update, then run this again" >&2
        exit 1
    }
    for file in *.deb; do
        dpkg -x "$file" .
        rm "$file"
    done
)
libraries=$programs/compiler/usr/lib
cat >"$programs.new/bin/clang" <<END
#!/bin/sh
LD_LIBRARY_PATH=$libraries/llvm-19/lib:$libraries/$(gcc -print-multiarch)
export LD_LIBRARY_PATH
exec $libraries/llvm-19/bin/clang "\$@"
END
chmod 755 "$programs.new/bin/clang"
for one in "$plugins"/*; do
    ln -s "$one" "$programs.new/cni/${one##*/}" 2>/dev/null || true
done
{
    echo "cilium $cilium"
    echo "gobgp $gobgp"
    echo "clang $(apt-cache policy clang-19 | sed -n 's/^ *Candidate: //p')"
    echo "go $("$go" env GOVERSION)"
    (cd "$programs.new" && sha256sum cilium-agent cni/cilium-cni | sed 's/^\([0-9a-f]*\) *\(.*\)$/sha256 \2 \1/')
    echo "sha256 lib/bpf $(cd "$programs.new/lib" && find bpf -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1)"
} >"$programs.new/versions"
rm -rf "$programs"
mv "$programs.new" "$programs"
"$programs/bin/clang" --version | head -n 1 || {
    rm -rf "$programs"
    echo "the unpacked clang does not run: sh setup/install.sh kubernetes brings what it needs" >&2
    exit 1
}
known
