*** Settings ***
Documentation       Pods with two networks: virtual functions of the node's NICs north and south, a user-space vSwitch
...                 between pods, east and west (draft-ietf-bmwg-containerized-infra 5.1.2.4). A chain of one pod has
...                 north-south alone, one of two has east-west in it; each direction is reported for itself.
...                 A machine without such NICs has them in a guest, by the profile and the testbed file `guest-sriov`
...                 (docs/networks.md). `--include model:combination` measures these alone.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           model:combination    path:chain    clause:draft-ietf-bmwg-containerized-infra-5.1.2.4
...                 req:CINF08-5.1.2.4-01    req:CINF08-5.1.2.4-03


*** Test Cases ***
Throughput Of Pods With Virtual Functions And A VSwitch
    [Tags]    id:CN-TPUT-9.1    metric:throughput
    Measure Its Cells

Latency Of Pods With Virtual Functions And A VSwitch
    [Tags]    id:CN-LAT-9.1    metric:latency
    Measure Its Cells
