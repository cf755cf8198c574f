*** Settings ***
Documentation       Latency of first frames of flows, beside later ones: VSPERF's test
...                 LTD.PacketLatency.InitialPacketProcessingLatency.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:latency    path:switch    clause:rfc8204-5.1


*** Test Cases ***
Latency Of First Frames Of Flows
    [Tags]    id:LTD-FIRST-1.1    req:LTD-3.2.2.2.1    req:RFC8204-5.1-02    req:RFC8204-3.4-03
    Measure Its Cells
