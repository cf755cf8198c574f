#!/bin/sh
# Sets the toolkit up on Debian or Ubuntu: system packages, Python environment, tester, commands.
#
#   sh setup/install.sh [WORD...]   what `bmwg run` needs, and what each word adds:
#     tests       what the tests need: all programs of the suites below but JMeter, k6 and clusters
#     vswitch     user-space networks: Open vSwitch with DPDK, unpacked only
#     workloads   testcases/pod_to_pod and testcases/hosts: iperf3, sysbench and others
#     guest       virtual machines: QEMU, and a guest kernel, unpacked only
#     http        testcases/http_proxy and rfc9411: Squid, nginx, HAProxy, Docker, QEMU, JMeter and others
#     libvirt     http, and libvirt as second driver of its virtual machines
#     kubernetes  an embedded Kubernetes cluster (5 to 15 minutes, once)
#     cilium      kubernetes, and Cilium (its agent is large: up to half an hour more, once)
#     openstack   http, and an OpenStack of its own whose servers are the machines
#   sh setup/install.sh --undo      remove the environment, what the set-up fetched into the checkout, the commands' links
#   sh setup/install.sh --help      print this
#
# A second run installs nothing. Settings: SETUP_KUBERNETES (minor version of the cluster, 1.34 or 1.33), SETUP_PYTHON (interpreter, default /usr/bin/python3),
# SETUP_BIN (where the commands are linked, default /usr/local/bin).
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
root=$(dirname -- "$here")
venv=$root/.venv
bin=${SETUP_BIN:-/usr/local/bin}
log=$root/.cache/setup.log
packages=$root/.cache/setup-packages # what the set-up installed, for --undo
steps=5
step=0
began=$(date +%s)
child=

say() { printf '%s\n' "$*"; }
seconds() { echo $(($(date +%s) - began)); }
title() {
    step=$((step + 1))
    say "[$step/$steps] $* ($(seconds) s)"
}
# stop WHAT MEND: one line each, nothing half-done is called done.
stop() {
    say "setup stopped at step $step of $steps: $1" >&2
    say "hint: $2" >&2
    exit 1
}

interrupted() {
    if [ -n "$child" ]; then kill -TERM "$child" 2>/dev/null || true; fi
    say "setup interrupted at step $step of $steps; run it again to go on" >&2
    exit 130
}
trap interrupted INT TERM HUP
trap 'services_allowed' EXIT

# run LIMIT_S COMMAND...: in the background with its output in the log, a sign of life, and a deadline.
run() {
    limit_s=$1
    shift
    printf '\n$ %s\n' "$*" >>"$log"
    timeout -k 10 "$limit_s" "$@" >>"$log" 2>&1 </dev/null &
    child=$!
    started=$(date +%s)
    said=0
    ticks=0
    while kill -0 "$child" 2>/dev/null; do
        sleep 0.2
        ticks=$((ticks + 1))
        if [ $((ticks % 5)) -ne 0 ]; then continue; fi
        waited=$(($(date +%s) - started))
        last=$(tail -n 1 "$log" | tr -cd '\40-\176' | cut -c 1-60)
        if [ -t 1 ]; then
            printf '\r      %4d s  %-60s' "$waited" "$last"
        elif [ "$waited" -ge $((said + 15)) ]; then
            said=$waited
            say "      $waited s  $last"
        fi
    done
    if [ -t 1 ] && [ "$ticks" -ge 5 ]; then printf '\r%80s\r' ''; fi
    status=0
    wait "$child" || status=$?
    child=
    if [ "$status" -eq 124 ]; then say "      no end after $limit_s s: stopped" | tee -a "$log"; fi
    return "$status"
}
show_log() {
    say "      last lines of $log:"
    tail -n 20 "$log" | sed 's/^/      | /'
}

# ---------------------------------------------------------------- system packages

wanted_packages() { sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' "$@"; }

count() { printf '%s' "$1" | wc -w; }
missing_packages() {
    # dpkg-query fails when one is unknown and still lists the rest
    # shellcheck disable=SC2086 # a list of names
    have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $1 2>/dev/null | sed -n 's/ installed$//p') || true
    for name in $1; do
        case "
$have
" in
        *"
$name
"*) ;;
        *) printf '%s ' "$name" ;;
        esac
    done
}

policy=/usr/sbin/policy-rc.d
policy_is_ours=no
services_refused() { # a package's service must not come up on the user's machine
    if [ ! -e "$policy" ]; then
        policy_is_ours=yes
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
}
services_allowed() {
    if [ "$policy_is_ours" = yes ]; then
        rm -f "$policy"
        policy_is_ours=no
    fi
}

install_packages() {
    mend="see $log; 'apt-get update && apt-get install $1' by hand shows the cause"
    try=1
    while [ "$try" -le 3 ]; do
        if [ "$try" -gt 1 ] || ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then
            say "      package lists: apt-get update"
            run 300 apt-get update -o Acquire::Retries=3 || say "      apt-get update did not end well (try $try of 3)"
        fi
        # shellcheck disable=SC2086 # a list of names
        if run 1200 env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
            -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 $1; then
            return 0
        fi
        say "      apt-get install failed (try $try of 3)"
        try=$((try + 1))
    done
    show_log
    stop "system packages were not installed: $1" "$mend"
}

packages_step() {
    lists=
    if [ "$tests" = yes ]; then lists="$lists test http vswitch"; fi
    if [ "$http" = yes ]; then lists="$lists http jmeter"; fi
    if [ "$guest" = yes ]; then lists="$lists vm"; fi
    if [ "$kubernetes" = yes ]; then lists="$lists kubernetes"; fi
    if [ "$workloads" = yes ]; then lists="$lists workloads"; fi
    if [ "$libvirt" = yes ]; then lists="$lists libvirt"; fi
    set -- "$here/debian-packages.txt"
    for list in $lists; do set -- "$@" "$here/debian-packages-$list.txt"; done
    names=$(wanted_packages "$@" | sort -u | tr '\n' ' ')
    if [ "$openstack" = yes ]; then names="${names}mmdebstrap openssh-client "; fi
    command -v dpkg-query >/dev/null 2>&1 ||
        stop "this is no Debian system (dpkg-query is missing)" \
            "install what setup/debian-packages.txt names by your system's means; then make .venv as docs/lab.md says"
    missing=$(missing_packages "$names")
    if [ -z "$missing" ]; then
        title "system packages: all $(count "$names") are there"
        return
    fi
    title "system packages: installing $(count "$missing"): $missing"
    [ "$(id -u)" -eq 0 ] || stop "not root, and these packages are missing: $missing" \
        "as root: apt-get install --no-install-recommends $missing"
    services_refused
    install_packages "$missing"
    services_allowed
    case " $missing" in
    *" openssh-server "*)
        # installed for its program only; a machine that had it keeps its service as it was
        if [ -d /run/systemd/system ]; then systemctl -q disable ssh.service ssh.socket 2>/dev/null || true; fi
        ;;
    esac
    if [ -d /run/systemd/system ]; then
        # installed for their programs: the suites start their own; what ran before stays as it was
        for service in squid nginx haproxy tayga docker containerd iperf3 snmpd frr; do
            case " $missing" in
            *" $service "* | *" $service.io "* | *" $service-openssl "*) systemctl -q disable "$service.service" 2>/dev/null || true ;;
            esac
        done
    fi
    left=$(missing_packages "$names")
    [ -z "$left" ] || stop "apt-get said it was done, but these are missing: $left" "apt-get install $left"
    # shellcheck disable=SC2086 # a list of names
    printf '%s\n' $missing >>"$packages"
}

# ---------------------------------------------------------------- Python environment

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    if [ -n "${SETUP_PYTHON:-}" ]; then
        new_enough "$SETUP_PYTHON" || stop "SETUP_PYTHON=$SETUP_PYTHON is no Python 3.11 or later" \
            "unset SETUP_PYTHON, or name a newer interpreter"
        python=$SETUP_PYTHON
        return
    fi
    for python in /usr/bin/python3 python3.11 python3.12 python3.13 python3.14 python3; do
        if new_enough "$python"; then return; fi
    done
    stop "no Python 3.11 or later was found" "apt-get install python3 python3-venv, or set SETUP_PYTHON"
}

python_step() {
    hash=$(cat "$root/pyproject.toml" "$here/constraints.txt" | sha256sum | cut -d ' ' -f 1)
    stamp=$venv/bmwg-setup
    found=$(cat "$stamp" 2>/dev/null) || found=
    wanted=run
    if [ "$tests" = yes ]; then wanted=$wanted,test,lint,docker,kubernetes,openstack,otg,stamps,sigstore,completion,parquet,store; fi
    if [ "$http" = yes ]; then wanted=$wanted,docker; fi
    if [ "$kubernetes" = yes ]; then wanted=$wanted,kubernetes; fi
    if [ "$openstack" = yes ]; then wanted=$wanted,openstack; fi
    if [ "$libvirt" = yes ]; then wanted=$wanted,libvirt; fi
    extras=
    for extra in run test lint docker kubernetes openstack otg stamps sigstore completion parquet store libvirt; do # what a checkout once had, it keeps
        case ",$wanted,${found%% *}," in *",$extra,"*) extras=${extras:+$extras,}$extra ;; esac
    done
    usable=no
    # a virtual environment that was moved has scripts that name the old place
    if new_enough "$venv/bin/python" && head -n 2 "$venv/bin/pip" 2>/dev/null | grep -qF "$venv/bin/python"; then
        usable=yes
    fi
    if [ "$usable" = yes ] && [ "$found" = "$extras $hash" ]; then
        title "Python environment: .venv is up to date"
        return
    fi
    find_python
    title "Python environment: .venv with $("$python" -V 2>&1) and [$extras]"
    if [ "$usable" = no ]; then
        run 600 "$python" -m venv --clear "$venv" || {
            show_log
            stop "$python -m venv failed" "apt-get install python3-venv, or set SETUP_PYTHON to another interpreter"
        }
    fi
    rm -f "$stamp"
    try=1
    while :; do
        # setuptools is pinned like the rest, hence no isolated build environment
        if run 900 "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off --retries 5 \
            -c "$here/constraints.txt" 'setuptools>=77' &&
            run 900 "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off --retries 5 \
                --no-build-isolation -c "$here/constraints.txt" -e "$root[$extras]"; then
            break
        fi
        say "      pip install failed (try $try of 3)"
        if [ "$try" -eq 3 ]; then
            show_log
            stop "the Python packages were not installed" \
                "see $log; does 'pip download robotframework' work here (index, proxy, certificates)?"
        fi
        try=$((try + 1))
    done
    printf '%s %s\n' "$extras" "$hash" >"$stamp"
}

# ---------------------------------------------------------------- tester and commands

tester_step() {
    title "tester: building it if its source changed"
    run 300 "$venv/bin/python" -m bmwg.drivers.traffic.embedded.build || {
        show_log
        stop "the embedded tester was not built" "see $log; the compiler's own lines say what is missing"
    }
    say "      $(tail -n 1 "$log")"
    run 60 "$venv/bin/python" -m bmwg.drivers.network.ebpf_build || {
        show_log
        stop "the programs of the eBPF networks were not built" "see $log; the compiler's own lines say what is missing"
    }
}

http_step() {
    title "clients: JMeter and k6 from their registries"
    run 1200 sh "$here/http-tools.sh" || {
        show_log
        stop "the clients of the HTTP proxy suites were not fetched" "see $log; does 'mvn --version' work here?"
    }
    run 120 "$venv/bin/python" -m bmwg.drivers.workload.transactions_build || {
        show_log
        stop "the client of transactions was not built" "see $log; the compiler's own lines say what is missing"
    }
}

workloads_step() {
    title "workloads: the program of MPI_Alltoall, if its source changed"
    run 60 "$venv/bin/python" -m bmwg.drivers.workload.mpi_build || {
        show_log
        stop "the program of MPI_Alltoall was not built" "see $log; the compiler's own lines say what is missing"
    }
}

vswitch_step() {
    title "vSwitch: Open vSwitch with DPDK, unpacked and not installed"
    run 1000 sh "$here/vswitch.sh" || {
        show_log
        stop "no vSwitch was unpacked" "see $log; 'sh setup/vswitch.sh' by hand shows the cause"
    }
}

guest_step() {
    title "virtual machines: a guest kernel, unpacked and not installed"
    run 1300 sh "$here/guest.sh" || {
        show_log
        stop "no guest kernel was unpacked" "see $log; 'sh setup/guest.sh' by hand shows the cause"
    }
}

kubernetes_step() {
    title "Kubernetes: its programs from Go modules (5 to 15 minutes the first time)"
    run 3000 sh "$here/kubernetes.sh" || {
        show_log
        stop "the programs of an embedded cluster were not built" "see $log; 'sh setup/kubernetes.sh' by hand shows the cause"
    }
    say "      $(tail -n 1 "$log")"
    title "flannel: flanneld and its CNI plugin from Go modules (2 minutes the first time)"
    run 1200 sh "$here/flannel.sh" || {
        show_log
        stop "flannel was not built" "see $log; 'sh setup/flannel.sh' by hand shows the cause"
    }
    say "      $(tail -n 1 "$log")"
}

cilium_step() {
    title "Cilium: its agent and CNI plugin from its Go module, and the compiler that the agent calls"
    run 3600 sh "$here/cilium.sh" || {
        show_log
        stop "Cilium was not built" "see $log; 'sh setup/cilium.sh' by hand shows the cause"
    }
    say "      $(tail -n 1 "$log")"
}

openstack_step() {
    title "OpenStack: a root file system of its own, beside this machine's"
    run 2400 sh "$here/openstack.sh" || {
        show_log
        stop "the embedded OpenStack was not made" "see $log; 'sh setup/openstack.sh' by hand shows the cause"
    }
}

is_ours() { # a link into the .venv of a checkout of this toolkit
    [ -L "$1" ] || return 1
    target=$(readlink "$1")
    case "$target" in
    */.venv/bin/*) checkout=${target%/.venv/bin/*} ;;
    *) return 1 ;;
    esac
    [ ! -e "$checkout" ] || [ -f "$checkout/src/bmwg/__init__.py" ]
}

commands_step() {
    title "commands: $bin/bmwg and $bin/robot"
    if [ ! -d "$bin" ] || [ ! -w "$bin" ]; then
        say "      $bin is not writable: use .venv/bin/bmwg and .venv/bin/robot"
        return
    fi
    for name in bmwg robot; do
        link=$bin/$name
        if [ ! -e "$link" ] && [ ! -L "$link" ] || is_ours "$link"; then
            if [ "$(readlink "$link" 2>/dev/null)" != "$venv/bin/$name" ]; then
                [ ! -L "$link" ] || say "      $link pointed into another checkout ($(readlink "$link")); now it is this one"
                ln -sfn "$venv/bin/$name" "$link"
            fi
        else
            say "      $link is not ours and stays as it is: use .venv/bin/$name"
        fi
        first=$(command -v "$name") || first=nothing
        if [ "$first" != "$link" ]; then
            say "      '$name' typed in this shell runs $first: use $link or .venv/bin/$name"
        fi
    done
}

# ---------------------------------------------------------------- main

undo() {
    for name in bmwg robot; do
        link=$bin/$name
        if [ -L "$link" ] && [ "$(readlink "$link")" = "$venv/bin/$name" ]; then
            rm -f "$link" && say "removed $link"
        fi
    done
    installed=$(sort -u "$packages" 2>/dev/null | tr '\n' ' ') || installed=
    for folder in "$venv" "$root/.cache"; do
        if [ -d "$folder" ]; then rm -rf "$folder" && say "removed $folder"; fi
    done
    say "Runs below results/ stay, and so does what other checkouts and programs may need:"
    if [ -d /var/cache/bmwg ]; then say "  programs that were unpacked: rm -r /var/cache/bmwg"; fi
    if [ -n "$installed" ]; then say "  packages that the set-up installed: apt-get remove $installed"; fi
}

tests=no cilium=no guest=no http=no kubernetes=no libvirt=no openstack=no vswitch=no workloads=no
words='tests vswitch workloads guest http libvirt kubernetes cilium openstack'
for word in "$@"; do
    case "$word" in
    -h | --help)
        sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p;}' "$0"
        exit 0
        ;;
    --undo)
        [ $# -eq 1 ] || { say "--undo stands alone" >&2; exit 2; }
        undo
        exit 0
        ;;
    tests) tests=yes vswitch=yes workloads=yes guest=yes ;;
    vswitch) vswitch=yes ;;
    workloads) workloads=yes ;;
    guest) guest=yes ;;
    http) http=yes guest=yes ;;
    libvirt) http=yes guest=yes libvirt=yes ;;
    openstack) http=yes guest=yes openstack=yes ;;
    kubernetes) kubernetes=yes ;;
    cilium) kubernetes=yes cilium=yes ;;
    *)
        say "unknown word '$word': expected any of $words; --help says what each adds" >&2
        exit 2
        ;;
    esac
done
for flag in "$vswitch" "$workloads" "$http" "$guest" "$cilium" "$openstack" "$kubernetes" "$kubernetes"; do # kubernetes has two
    if [ "$flag" = yes ]; then steps=$((steps + 1)); fi
done

[ "$(uname -s)" = Linux ] || stop "this is $(uname -s)" "the toolkit needs Linux (namespaces, AF_XDP); Debian 12 and 13 and Ubuntu 24.04 are what it is tried on"
mkdir -p "$(dirname -- "$log")"
: >"$log"
packages_step
python_step
tester_step
if [ "$vswitch" = yes ]; then vswitch_step; fi
if [ "$workloads" = yes ]; then workloads_step; fi
if [ "$http" = yes ]; then http_step; fi
if [ "$guest" = yes ]; then guest_step; fi
if [ "$kubernetes" = yes ]; then kubernetes_step; fi
if [ "$cilium" = yes ]; then cilium_step; fi
if [ "$openstack" = yes ]; then openstack_step; fi
commands_step
title "done. Next: .venv/bin/bmwg run, or robot testcases/containerized/"
