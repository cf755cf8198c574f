*** Settings ***
Documentation       Frames through functions that look into them: a firewall by its number of rules, of which the last
...                 one lets test frames through, and a NAT44. What a function counted itself stands beside the
...                 tester's counts of each trial. The profile names functions and settings; `functions` does, `quick`
...                 names none. Rows of RFC 9411 are from memory: source unconfirmed, and no grade rests on them.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           clause:rfc9411-4.2    req:RFC9411-4.2-02    req:RFC9411-4.2-03


*** Test Cases ***
Throughput Of Functions That Filter Or Translate
    [Tags]    id:FN-TPUT-1.1    metric:throughput
    Measure Its Cells

Latency Of Functions That Filter Or Translate
    [Tags]    id:FN-LAT-1.1    metric:latency
    Measure Its Cells
