*** Settings ***
Documentation       Pods joined by a vSwitch of user space: Open vSwitch with DPDK polls the node's NICs, pods have
...                 vhost-user ports (draft-ietf-bmwg-containerized-infra 5.1.2.1). The profile names the network
...                 options; where the switch is not there its cells are not assessed, with what is missing.
...                 `--include model:user-space` measures these alone.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           model:user-space    path:pvp    clause:draft-ietf-bmwg-containerized-infra-5.1.2.1
...                 req:CINF08-5.1.2.1-01    req:CINF08-5.1.2.1-02    req:CINF08-5.1.2.1-05
...                 req:CINF08-5.1.2.1-06


*** Test Cases ***
Throughput Of A Pod Behind A Polling Switch
    [Tags]    id:CN-TPUT-2.1    metric:throughput
    Measure Its Cells

Latency Of A Pod Behind A Polling Switch
    [Tags]    id:CN-LAT-2.1    metric:latency
    Measure Its Cells
