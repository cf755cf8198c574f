*** Settings ***
Documentation       Throughput under each modifier of RFC 2544 section 11, beside the throughput without any.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    clause:rfc2544-11    req:RFC2544-11-02


*** Test Cases ***
Broadcast Frames
    [Tags]    id:R2544-MOD-1.1    req:RFC2544-11.1-01    req:RFC2544-11.1-02
    Measure Its Cells

Management Frames
    [Tags]    id:R2544-MOD-1.2    req:RFC2544-11.2-01    req:RFC2544-11.2-03
    Measure Its Cells

Routing Updates
    [Tags]    id:R2544-MOD-1.3    req:RFC2544-11.3-01    req:RFC2544-11.3-02    req:RFC2544-11.3-03
    Measure Its Cells

One Filter
    [Tags]    id:R2544-MOD-1.4    req:RFC2544-11.4-01    req:RFC2544-11.4-02
    Measure Its Cells

Twenty Five Filters
    [Tags]    id:R2544-MOD-1.5    req:RFC2544-11.4-05    req:RFC2544-11.4-06    req:RFC2544-11.4-07
    Measure Its Cells

Broadcast Frames Through A Bridge
    [Tags]    id:R2544-MOD-1.6    req:RFC2544-11.1-03
    Measure Its Cells
