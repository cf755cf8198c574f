*** Settings ***
Documentation       A virtual machine that forwards between two NICs of its host: PVP with a server that Nova makes
...                 (draft-ietf-bmwg-containerized-infra 5.2 beside its pods; docs/openstack.md), or with a guest whose
...                 NICs are vhost-user ports of a vSwitch (RFC 8204 section 4; docs/networks.md). Without a provider of
...                 such machines, cells are not assessed. `--include path:pvp-vm` measures the former alone.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           clause:rfc2544-26.1


*** Test Cases ***
Throughput Through A Virtual Machine
    [Tags]    id:CN-TPUT-6.1    path:pvp-vm    metric:throughput    req:RFC2544-26.1-01
    Measure Its Cells

Latency Through A Virtual Machine
    [Tags]    id:CN-LAT-6.1    path:pvp-vm    metric:latency    req:RFC2544-26.2-01
    Measure Its Cells

Throughput Through A Virtual Machine Behind A VSwitch
    [Tags]    id:CN-TPUT-6.2    path:pvp-vm-vhost-user    metric:throughput    req:RFC2544-26.1-01    req:RFC8204-4-20
    Measure Its Cells

Latency Through A Virtual Machine Behind A VSwitch
    [Tags]    id:CN-LAT-6.2    path:pvp-vm-vhost-user    metric:latency    req:RFC2544-26.2-01    req:RFC8204-4-20
    Measure Its Cells
