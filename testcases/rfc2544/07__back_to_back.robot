*** Settings ***
Documentation       Back-to-back frames of RFC 9004: the longest burst at the highest rate that is forwarded whole,
...                 searched several times, and the buffer time that it implies.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:back-to-back    clause:rfc9004-6    req:RFC9004-6.2-07    req:RFC9004-6.3-01
...                 req:RFC9004-6.4-01    req:RFC9004-6.4-03


*** Test Cases ***
Longest Burst Without Loss
    [Tags]    id:R2544-B2B-1.1
    Measure Its Cells
