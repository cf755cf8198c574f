*** Settings ***
Documentation       Loss and latency at five loads around the throughput: VSPERF's test LTD.Throughput.RFC2544.Profile.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:load-profile    req:LTD-3.2.2.1.3-02


*** Test Cases ***
Throughput And Latency Around The Throughput
    [Tags]    id:LTD-PROF-1.1    clause:rfc8204-5.6    req:LTD-3.2.2.1.3-01    req:RFC8204-5.6-02
    Measure Its Cells

Throughput And Latency Around The Throughput Of Three Functions And More
    [Tags]    id:LTD-PROF-2.1    path:chain    clause:rfc8204-5.8    req:LTD-3.2.2.3.4-01    req:LTD-3.2.2.3.4-02
    ...       req:RFC8204-5.8-03
    Measure Its Cells
