*** Settings ***
Documentation       Latency of a single broadcast frame at each receiving port of a switch.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:latency    clause:rfc2889-5.10.3


*** Test Cases ***
Latency Of Broadcast Frames At Each Port Of A Switch
    [Tags]    id:R2889-BCAST-1.1    path:switch    req:RFC2889-5.10.3-02    req:LTD-3.2.2.1.12-01
    Measure Its Cells
