*** Settings ***
Documentation       Bursty traffic of RFC 2544 section 21: bursts of 16, 64, 256 and 1024 frames, repeated, and the
...                 least interval between them at which no frame is lost.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:burst-interval    clause:rfc2544-21    req:RFC2544-21-01    req:RFC2544-21-03


*** Test Cases ***
Least Interval Between Bursts Of 16 Frames
    [Tags]    id:R2544-BURST-1.1
    Measure Its Cells

Least Interval Between Bursts Of 64 Frames
    [Tags]    id:R2544-BURST-1.2
    Measure Its Cells

Least Interval Between Bursts Of 256 Frames
    [Tags]    id:R2544-BURST-1.3
    Measure Its Cells

Least Interval Between Bursts Of 1024 Frames
    [Tags]    id:R2544-BURST-1.4
    Measure Its Cells
