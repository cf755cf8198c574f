*** Settings ***
Documentation       Recovery from 150 % of the throughput, until latency is back: VSPERF's test
...                 LTD.Throughput.RFC2544.SystemRecoveryTime.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:system-recovery    clause:rfc8204-5.3


*** Test Cases ***
Recovery From An Overload And Return Of Latency
    [Tags]    id:LTD-RECOV-1.1    req:LTD-3.2.2.1.4    req:RFC8204-5.3-01
    Measure Its Cells
