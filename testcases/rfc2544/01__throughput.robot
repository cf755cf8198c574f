*** Settings ***
Documentation       Throughput after RFC 2544 section 26.1, one way and both ways, with one flow and with many,
...                 to one network and to 256, over IPv4 and IPv6 (RFC 5180). Paths and frame sizes come from
...                 the profile; each cell has an outcome of its own. A slow device fails no test; a procedure
...                 that did not hold does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    clause:rfc2544-26.1    req:RFC2544-26.1-01    req:RFC2544-26.1-08


*** Test Cases ***
Throughput By The Search Of The Profile
    [Tags]    id:R2544-TPUT-1.1
    Measure Its Cells

Throughput In Both Directions At Once
    [Tags]    id:R2544-TPUT-1.2    clause:rfc2544-14    req:RFC2544-14-01
    Measure Its Cells

Throughput With Many Flows
    [Tags]    id:R2544-TPUT-1.3    clause:rfc2544-12
    Measure Its Cells

Throughput Over IPv6
    [Tags]    id:R2544-TPUT-1.4    clause:rfc5180-5
    Measure Its Cells

Throughput To Many Networks
    [Documentation]    Each frame goes to one of 256 networks behind the far port, drawn at random.
    [Tags]    id:R2544-TPUT-1.5    clause:rfc2544-12    req:RFC2544-12-02    req:RFC2544-12-03
    Measure Its Cells

Throughput Of Mixed Frame Sizes
    [Tags]    id:R2544-IMIX-1.1    clause:rfc6985-4    req:SUP-6985-4-01    req:SUP-6985-6.1
    Measure Its Cells
