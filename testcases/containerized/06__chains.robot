*** Settings ***
Documentation       Chains of forwarding pods on one node, one after the other between two NICs: PVVP and longer
...                 (draft-ietf-bmwg-containerized-infra 5.2.6). The profile names options and chains (`a>b>c`: three
...                 functions); an option that joins no two pods is not assessed, a chain that loops is refused.
...                 `--include path:chain` measures these alone.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           path:chain    clause:draft-ietf-bmwg-containerized-infra-5.2.6    req:CINF08-5.2.6-01
...                 req:CINF08-5.2.6-02    req:CINF08-5.2.6-03    req:CINF08-5.2.6-04


*** Test Cases ***
Throughput Of A Chain Of Pods
    [Tags]    id:CN-TPUT-5.1    metric:throughput
    Measure Its Cells

Latency Of A Chain Of Pods
    [Tags]    id:CN-LAT-5.1    metric:latency
    Measure Its Cells
