*** Settings ***
Documentation       The vendor's measurement on its path, and its act on a pod.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:toy


*** Test Cases ***
Loss Of A Bridging Node At A Load
    [Tags]    id:TOY-LOSS-1.1    path:l2-node
    Measure Its Cells

Outage Of A Pod Whose Bridge Pauses
    [Tags]    id:TOY-RESET-1.1    path:pvp
    Measure Its Cells
