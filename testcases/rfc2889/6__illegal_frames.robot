*** Settings ***
Documentation       Whether a switch filters frames of illegal size: below 64 octets, and above 1518.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:illegal-frames    clause:rfc2889-5.9


*** Test Cases ***
Undersized And Oversized Frames At A Switch
    [Tags]    id:R2889-ILL-1.1    path:switch    req:RFC2889-5.9.2    req:RFC2889-5.9.3-02    req:RFC2889-5.9.3-03
    ...       req:RFC2889-5.9.5    req:RFC8204-5.6-01    req:LTD-3.2.2.1.11
    Measure Its Cells
