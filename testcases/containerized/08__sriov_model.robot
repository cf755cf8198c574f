*** Settings ***
Documentation       Pods with a virtual function of the node's NIC: frames go past the node's kernel
...                 (draft-ietf-bmwg-containerized-infra 5.1.2.3). The profile names the network options; a machine
...                 without such a NIC has one in a guest, by the profile and the testbed file `guest-sriov`
...                 (docs/networks.md). `--include model:sr-iov` measures these alone.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           model:sr-iov    path:pvp    clause:draft-ietf-bmwg-containerized-infra-5.1.2.3
...                 req:CINF08-5.1.2.3-01    req:CINF08-5.1.2.3-03    req:CINF08-5.1.2.3-04


*** Test Cases ***
Throughput Of A Pod With A Virtual Function
    [Tags]    id:CN-TPUT-8.1    metric:throughput
    Measure Its Cells

Latency Of A Pod With A Virtual Function
    [Tags]    id:CN-LAT-8.1    metric:latency
    Measure Its Cells
