*** Settings ***
Documentation       Throughput by the number of flows that a switch was given beforehand: VSPERF's test
...                 LTD.Scalability.Flows.RFC2544.0PacketLoss.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    path:switch    clause:rfc8204-5.8    req:LTD-3.2.2.3.1    req:RFC8204-5.8-01


*** Test Cases ***
Throughput By The Number Of Flows
    [Tags]    id:LTD-FLOWS-1.1
    Measure Its Cells

Throughput By The Number Of Flows Whose Entries Expire
    [Tags]    id:LTD-FLOWS-1.2
    Measure Its Cells
