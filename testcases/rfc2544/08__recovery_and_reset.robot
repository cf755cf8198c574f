*** Settings ***
Documentation       System recovery of RFC 2544 section 26.5 and reset of RFC 6201: how long frames are lost after an
...                 overload has ended, and while a link, a virtual switch or a container comes back.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:recovery


*** Test Cases ***
Recovery From An Overload
    [Tags]    id:R2544-RECOV-1.1    clause:rfc2544-26.5    req:RFC2544-26.5-01    req:RFC2544-26.5-02
    ...       req:RFC2544-26.5-03    req:RFC2544-26.5-04
    Measure Its Cells

Reset Of A Link
    [Tags]    id:R2544-RESET-1.1    clause:rfc6201-1.3    req:RFC2544-26.6-01    req:SUP-6201-1.3-01
    Measure Its Cells

Restart Of The Virtual Switch
    [Tags]    id:R2544-RESET-1.2    clause:rfc6201-1.3    req:RFC2544-26.6-01    req:SUP-6201-1.3-01
    Measure Its Cells

Restart Of A Container
    [Tags]    id:R2544-RESET-1.3    clause:rfc6201-1.3    req:RFC2544-26.6-01    req:SUP-6201-1.3-01
    Measure Its Cells
