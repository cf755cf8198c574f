*** Settings ***
Documentation       Throughput beside a neighbour that uses up CPU or memory bandwidth, and without it: VSPERF's tests
...                 LTD.Stress.RFC2544.0PacketLoss and LTD.MemoryBandwidth.RFC2544.0PacketLoss.Scalability.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    req:RFC8204-4-16    req:RFC8172-3.3-02


*** Test Cases ***
Throughput Beside A Load On CPU Or Memory
    [Tags]    id:LTD-STRESS-1.1    clause:rfc8204-5.5    req:LTD-3.2.2.6.1    req:RFC8204-5.5-02
    Measure Its Cells

Throughput Beside A Load On Memory Bandwidth
    [Tags]    id:LTD-MEMBW-1.1    clause:rfc8204-5.8    req:LTD-3.2.2.3.2-01    req:LTD-3.2.2.3.2-02
    ...       req:RFC8204-5.8-02
    Measure Its Cells
