#!/bin/sh
# Fetches the client programs of the HTTP proxy suites that Debian has not, or not in a form that works, from
# their own registries: JMeter (Maven) and k6 (Go). Called by `sh setup/install.sh http`; a second run does nothing.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
tools=${1:-/var/cache/bmwg/tools}
jmeter=$tools/jmeter-5.6.3
k6=$tools/k6-0.49.0
wait_s=1100 # below the deadline of setup/install.sh

if [ -f "$jmeter/bin/ApacheJMeter.jar" ] && [ -x "$k6/k6" ]; then exit 0; fi
mkdir -p "$tools"
exec 9>"$tools/.lock" # of two checkouts set up at once, one fetches and the other finds it done
if ! flock -w "$wait_s" 9; then
    echo "$tools/.lock: another set-up has held it for $wait_s s; nothing was fetched" >&2
    exit 1
fi

if [ ! -f "$jmeter/bin/ApacheJMeter.jar" ]; then
    new=$jmeter.new
    rm -rf "$new"
    mkdir -p "$new/bin" "$new/lib/ext" "$new/lib/junit"
    mvn -B -q -f "$here/jmeter/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$new/lib"
    python3 -m zipfile -e "$new/lib/ApacheJMeter_config-5.6.3.jar" "$new/config"
    mv "$new"/config/bin/* "$new/bin/"
    rm -rf "$new/config"
    mv "$new"/lib/ApacheJMeter_*.jar "$new/lib/ext/"
    mv "$new/lib/ApacheJMeter-5.6.3.jar" "$new/bin/ApacheJMeter.jar"
    mv "$new" "$jmeter"
    echo "JMeter: $jmeter"
fi
if [ ! -x "$k6/k6" ]; then
    if command -v go >/dev/null 2>&1; then
        mkdir -p "$k6.new"
        GOFLAGS=-mod=mod GOTOOLCHAIN=local GOBIN=$k6.new go install go.k6.io/k6@v0.49.0
        mv "$k6.new" "$k6"
        echo "k6: $k6"
    else
        echo "k6 was not built: no Go 1.20 or newer; the experiments with a constant rate will say so"
    fi
fi
