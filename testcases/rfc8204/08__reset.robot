*** Settings ***
Documentation       Outage by a restart of the switch's program amid traffic, planned and unplanned: VSPERF's test
...                 LTD.Throughput.RFC6201.ResetTime.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:reset    path:switch    clause:rfc8204-5.3    req:LTD-3.2.2.1.8    req:RFC8204-5.3-02


*** Test Cases ***
Restart Of The Switch In Good Order
    [Tags]    id:LTD-RESET-1.1
    Measure Its Cells

Kill Of The Switch And Its Next Start
    [Tags]    id:LTD-RESET-1.2
    Measure Its Cells
