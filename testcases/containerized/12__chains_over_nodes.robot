*** Settings ***
Documentation       Chains of forwarding pods over two nodes, joined by an L2 underlay, with a tester's port at each
...                 (draft-ietf-bmwg-containerized-infra 5.2.6 and 5.2.7). One tester sends and counts: latency is of
...                 one clock. The testbed cables the tester to two nodes, and the profile names the chains; none of
...                 the toolkit's does (docs/networks.md).
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           path:chain-underlay    clause:draft-ietf-bmwg-containerized-infra-5.2.7    req:CINF08-5.2.6-01
...                 req:CINF08-5.2.6-02    req:CINF08-5.2.7-01    req:CINF08-5.2.7-02


*** Test Cases ***
Throughput Of A Chain Over Two Nodes
    [Tags]    id:CN-TPUT-12.1    metric:throughput
    Measure Its Cells

Latency Of A Chain Over Two Nodes
    [Tags]    id:CN-LAT-12.1    metric:latency
    Measure Its Cells
