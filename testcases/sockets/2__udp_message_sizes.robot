*** Settings ***
Documentation       UDP by the size of a datagram (document 004), from a native client to a server in each hosting
...                 form, by netperf and, as its twin, iperf3: what arrived per second, and the share that arrived.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:goodput    clause:draft-dcn-bmwg-containerized-infra-4    req:DCN-s4-05    req:DCN-s3.1
...                 path:client-server


*** Test Cases ***
Datagram Sizes By Netperf
    [Tags]    id:SK-UDP-4
    Measure Its Cells

Datagram Sizes By Iperf3
    [Tags]    id:SK-UDPT-4
    Measure Its Cells
