*** Settings ***
Documentation       Frame loss rate of a switch by pattern of ports, from the highest load of each sender down.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:frame-loss    clause:rfc2889-5.1.4


*** Test Cases ***
Frame Loss Rate Of A Switch By Pattern Of Ports
    [Tags]    id:R2889-LOSS-1.1    path:switch    req:RFC2889-5.1.4-03
    Measure Its Cells
