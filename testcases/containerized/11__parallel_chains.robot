*** Settings ***
Documentation       Chains beside each other on one node: several PVP, or longer chains, over one network at once,
...                 functions shared where the profile says so (draft-ietf-bmwg-containerized-infra 5.2.6).
...                 The load is of all chains together, each frame goes to one that is drawn,
...                 and each chain is counted by itself. Without loss no chain loses a frame.
...                 The profile names the chains; `factors` has some, `quick` none.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           path:parallel    clause:draft-ietf-bmwg-containerized-infra-5.2.6    req:CINF08-5.2.6-01
...                 req:CINF08-5.2.6-02    req:CINF08-5.2.6-03    req:CINF08-5.2.6-04    req:CINF08-5.2.6-05


*** Test Cases ***
Throughput Of Chains Beside Each Other
    [Tags]    id:CN-TPUT-11.1    metric:throughput
    Measure Its Cells

Latency Of Chains Beside Each Other
    [Tags]    id:CN-LAT-11.1    metric:latency
    Measure Its Cells
