*** Settings ***
Documentation       Soak: a share of the throughput for a long time, as trials in a row of which none is repeated.
...                 Says how much was lost, whether in a row, and how far the mean latency drifted (TST009 12.4).
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:soak    clause:tst009-12.4    req:TST009-12.4    req:TST009-11


*** Test Cases ***
Loss And Drift Over A Long Time
    [Tags]    id:R2544-SOAK-1.1
    Measure Its Cells
