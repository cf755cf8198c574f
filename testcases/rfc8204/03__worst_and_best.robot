*** Settings ***
Documentation       Throughput by searches in which the worst, or the best, of N trials at a load decides: VSPERF's test
...                 LTD.Throughput.RFC2544.WorstN-BestN.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    clause:rfc8204-5.5    req:LTD-3.2.2.1.13    req:RFC8204-5.5-08


*** Test Cases ***
Throughput By The Worst Of N Trials
    [Tags]    id:LTD-WN-1.1
    Measure Its Cells

Throughput By The Best Of N Trials
    [Tags]    id:LTD-BN-1.1
    Measure Its Cells
