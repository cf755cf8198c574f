#!/bin/bash
# Walks README, cni-option, comparing and python word by word in a set-up that begins with nothing, and says after how many minutes:
#   python3 tests/cold/cold.py 'bash tests/cold/walk.sh' --suite trixie
# tests/unit/cli/test_docs_commands.py holds each line against its page.
set -u
sudo() { "$@"; } # the reader is root here
began=$(date +%s)
clock() { printf '%d:%02d' $((($(date +%s) - began) / 60)) $((($(date +%s) - began) % 60)); }
line() { # PAGE LINE
    echo "##### $(clock) [$1] $2"
    eval "$2"
    status=$?
    echo "##### $(clock) status $status, load $(cut -d ' ' -f 1 /proc/loadavg)"
}
line README.md 'sh setup/install.sh && .venv/bin/bmwg run'
line README.md '.venv/bin/bmwg run --testbed testbeds/simulated.yaml'
line docs/cni-option.md 'bmwg plan --testbed docs/examples/own-option.yaml --network own --network bridge --path pvp --frame-size 64'
line docs/cni-option.md 'sudo bmwg run --testbed docs/examples/own-option.yaml --network own --network bridge --path pvp --frame-size 64'
line docs/comparing.md 'sudo .venv/bin/bmwg run --repeat 5 --testbed docs/examples/own-option.yaml --network own --network rival --path pvp --frame-size 64' |
    tee /tmp/series
printed=$(grep -o 'bmwg compare .*' /tmp/series | tail -n 1)
echo "##### $(clock) the line that it printed"
$printed
line docs/python.md '.venv/bin/pip install nbconvert ipykernel pandas' >/dev/null 2>&1
set -- $printed
FIRST=${3%%,*} SECOND=${3##*,} # two of its runs
echo "##### $(clock) notebook of $FIRST and $SECOND"
RUNS=$PWD/results/$FIRST:$PWD/results/$SECOND .venv/bin/jupyter nbconvert --to html --execute --output-dir . docs/examples/two_runs.ipynb
echo "##### $(clock) status $?"
ls -l two_runs.html
