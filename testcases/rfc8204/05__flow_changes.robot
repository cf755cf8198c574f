*** Settings ***
Documentation       Throughput while a control plane adds and removes idle flows: VSPERF's test
...                 LTD.CPDPCouplingFlowAddition.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    path:switch    clause:rfc8204-5.2    req:LTD-3.2.2.5.1    req:RFC8204-5.2


*** Test Cases ***
Eight Idle Flows Without Changes
    [Tags]    id:LTD-CPDP-1.1
    Measure Its Cells

Eight Idle Flows One Change A Second
    [Tags]    id:LTD-CPDP-1.2
    Measure Its Cells

Eight Idle Flows A Hundred Changes A Second
    [Tags]    id:LTD-CPDP-1.3
    Measure Its Cells

Eight Idle Flows Ten Thousand Changes A Second
    [Tags]    id:LTD-CPDP-1.4
    Measure Its Cells

A Thousand Idle Flows Without Changes
    [Tags]    id:LTD-CPDP-2.1
    Measure Its Cells

A Thousand Idle Flows One Change A Second
    [Tags]    id:LTD-CPDP-2.2
    Measure Its Cells

A Thousand Idle Flows A Hundred Changes A Second
    [Tags]    id:LTD-CPDP-2.3
    Measure Its Cells

A Thousand Idle Flows Ten Thousand Changes A Second
    [Tags]    id:LTD-CPDP-2.4
    Measure Its Cells

A Hundred Thousand Idle Flows Without Changes
    [Tags]    id:LTD-CPDP-3.1
    Measure Its Cells

A Hundred Thousand Idle Flows One Change A Second
    [Tags]    id:LTD-CPDP-3.2
    Measure Its Cells

A Hundred Thousand Idle Flows A Hundred Changes A Second
    [Tags]    id:LTD-CPDP-3.3
    Measure Its Cells

A Hundred Thousand Idle Flows Ten Thousand Changes A Second
    [Tags]    id:LTD-CPDP-3.4
    Measure Its Cells
