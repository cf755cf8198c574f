*** Settings ***
Documentation       Bursts of 16, 64 and 256 frames from each port of a pattern, repeated: the least interval between
...                 them at which no port loses a frame.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:burst-interval    path:switch    clause:rfc2889-5.1.2    req:RFC2889-5.1.2-02
...                 req:RFC2889-5.1.2-03


*** Test Cases ***
Bursts Of 16 Frames Between Several Ports Of A Switch
    [Tags]    id:R2889-BURST-1.1
    Measure Its Cells

Bursts Of 64 Frames Between Several Ports Of A Switch
    [Tags]    id:R2889-BURST-1.2
    Measure Its Cells

Bursts Of 256 Frames Between Several Ports Of A Switch
    [Tags]    id:R2889-BURST-1.3
    Measure Its Cells
