*** Settings ***
Documentation       A virtual machine that forwards between two NICs of its host: PVP with a server that Nova makes
...                 (draft-ietf-bmwg-containerized-infra 5.2 beside its pods; docs/openstack.md). Without a provider of
...                 machines that forward, cells are not assessed. `--include path:pvp-vm` measures these alone.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           path:pvp-vm    clause:rfc2544-26.1


*** Test Cases ***
Throughput Through A Virtual Machine
    [Tags]    id:CN-TPUT-6.1    metric:throughput    req:RFC2544-26.1-01
    Measure Its Cells

Latency Through A Virtual Machine
    [Tags]    id:CN-LAT-6.1    metric:latency    req:RFC2544-26.2-01
    Measure Its Cells
