*** Settings ***
Documentation       TCP by the size that the sender's socket asks for (document 004), from a native client to a server
...                 in each hosting form, by netperf and, as its twin, iperf3. The sizes come from the profile.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:goodput    clause:draft-dcn-bmwg-containerized-infra-4    req:DCN-s4-05    req:DCN-s3.1
...                 path:client-server


*** Test Cases ***
Sender's Socket Size By Netperf
    [Tags]    id:SK-TCP-4
    Measure Its Cells

Both Sockets' Size By Iperf3
    [Tags]    id:SK-TCPT-4
    Measure Its Cells
