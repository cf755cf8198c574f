*** Settings ***
Documentation       Request and response, one after the other (document 002), from a native client to a server in each
...                 hosting form, by sockperf: the time there and back, whose reciprocal is about netperf's rate.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:round_trip_time    clause:draft-dcn-bmwg-containerized-infra-4    req:DCN-s4-05
...                 req:DCN-s3.1    path:client-server


*** Test Cases ***
Request And Response Over TCP
    [Tags]    id:SK-TCPRR-4
    Measure Its Cells

Request And Response Over UDP
    [Tags]    id:SK-UDPRR-4
    Measure Its Cells
