*** Settings ***
Documentation       Pods of two nodes joined by the cluster's own network (flannel), whose daemons make the way between
...                 the nodes: the host's bridge and routes of draft-ietf-bmwg-containerized-infra 5.1.1. The profile
...                 names the network options; without a cluster that has them the cells are not assessed, by name.
...                 `--include path:p2p-cluster` measures these alone.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           path:p2p-cluster    clause:draft-ietf-bmwg-containerized-infra-5.1.1
...                 req:CINF08-5.1.1-01    req:CINF08-5.1.1-02    req:CINF08-5.1.1-04


*** Test Cases ***
Throughput Pod To Pod On Two Nodes By The Cluster's Network
    [Tags]    id:CN-TPUT-4.1    metric:throughput
    Measure Its Cells

Latency Pod To Pod On Two Nodes By The Cluster's Network
    [Tags]    id:CN-LAT-4.1    metric:latency
    Measure Its Cells
