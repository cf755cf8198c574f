*** Settings ***
Documentation       From the request to move a guest that routes to another node until frames come by it there
...                 (RFC 8172 section 4.3); by pre-copy and post-copy, idle, at half load, while the guest writes
...                 its memory; and from the request for a guest beside it to the first frame that it has
...                 forwarded (section 3.3). A long outage fails no test. With profile `moves`.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           clause:rfc8172-4.3    path:pvp-moving


*** Test Cases ***
From The Request To Move A Guest To Frames At Its Other Place
    [Tags]    id:LC-MIGRATE-1    metric:guest_move    req:RFC8172-4.3-02
    Measure Its Cells

From The Request To Change A Guest's Memory Or CPUs To Frames With It
    [Tags]    id:LC-RESIZE-1    metric:guest_resize    clause:rfc8172-3.3    req:RFC8172-3.3-04
    Measure Its Cells

From The Request For A Guest Beside One That Runs To Its First Frame
    [Tags]    id:LC-START-3    metric:guest_start    clause:rfc8172-3.3    req:RFC8172-3.3-04
    Measure Its Cells
