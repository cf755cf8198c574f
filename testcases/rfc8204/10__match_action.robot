*** Settings ***
Documentation       Throughput by what flows match and do: VSPERF's test
...                 LTD.Throughput.RFC2544.MatchAction.PacketLossRatio.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    path:switch    clause:rfc8204-5.5    req:LTD-3.2.2.1.15
...                 req:LTP-3.2.5.2.2


*** Test Cases ***
Flows That Forward As A Learning Switch
    [Tags]    id:LTD-MATCH-1.1
    Measure Its Cells

Flows That Output To A Port
    [Tags]    id:LTD-MATCH-1.2
    Measure Its Cells

Flows That Flood
    [Tags]    id:LTD-MATCH-1.3
    Measure Its Cells

Flows That Match The EtherType
    [Tags]    id:LTD-MATCH-1.4
    Measure Its Cells

Flows That Match Both MAC Addresses
    [Tags]    id:LTD-MATCH-1.5
    Measure Its Cells

Flows That Match The Source Address
    [Tags]    id:LTD-MATCH-1.6
    Measure Its Cells

Flows That Decrement The Hop Limit
    [Tags]    id:LTD-MATCH-1.7
    Measure Its Cells

Flows That Set The DSCP
    [Tags]    id:LTD-MATCH-1.8
    Measure Its Cells

Flows That Set The Source MAC Address
    [Tags]    id:LTD-MATCH-1.9
    Measure Its Cells

Flows That Decrement The Hop Limit Of Half Of The Frames
    [Tags]    id:LTD-MATCH-1.10
    Measure Its Cells

Flows That Change The VLAN Of Tagged Frames
    [Tags]    id:LTD-MATCH-1.11
    Measure Its Cells

Flows That Push A Tag
    [Tags]    id:LTD-MATCH-1.12    req:LTP-3.3.2
    Measure Its Cells

Flows That Pop A Tag
    [Tags]    id:LTD-MATCH-1.13
    Measure Its Cells

Flows That Output To All Other Ports
    [Tags]    id:LTD-MATCH-1.14
    Measure Its Cells
