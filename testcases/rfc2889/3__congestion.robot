*** Settings ***
Documentation       What a congested port of a switch does to an uncongested one: head-of-line blocking, back pressure.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:congestion-control    clause:rfc2889-5.5


*** Test Cases ***
Loss At An Uncongested Port Beside A Congested One
    [Tags]    id:R2889-CONG-1.1    path:switch    req:RFC2889-5.5
    Measure Its Cells
