*** Settings ***
Documentation       The throughput, confirmed by a trial and held for long, with loss and delay variation of each
...                 interval: VSPERF's tests LTD.Throughput.RFC2889.MaxForwardingRateSoak, the same with
...                 FrameModification, and LTD.PacketDelayVariation.RFC3393.Soak.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:soak    clause:rfc8204-5.7


*** Test Cases ***
Loss And Delay Variation Over A Long Time
    [Tags]    id:LTD-SOAK-1.1    req:LTD-3.2.2.1.6-01    req:LTD-3.2.2.1.6-02    req:LTD-3.2.2.1.6-03
    ...       req:LTD-3.2.2.2.2    req:RFC8204-5.7-01    req:RFC8204-5.7-03
    Measure Its Cells

Loss And Delay Variation Over A Long Time Through A Function That Modifies Headers
    [Tags]    id:LTD-SOAK-2.1    req:LTD-3.2.2.1.7    req:RFC8204-5.7-02
    Measure Its Cells
