*** Settings ***
Documentation       Throughput of a learning switch between more ports than two: a full mesh, one port to many,
...                 many to one, one half of the ports to the other, and broadcast. The profile names switches
...                 and patterns; `rfc2889` does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    clause:rfc2889-5.1


*** Test Cases ***
Throughput Of A Switch By Pattern Of Ports
    [Tags]    id:R2889-TPUT-1.1    path:switch    clause:rfc2889-5.2    clause:rfc2889-5.4    clause:rfc2889-5.10
    ...       req:RFC2889-5.1.3-03    req:RFC2889-5.1.3-05    req:RFC2889-5.1.4-01    req:RFC2889-5.2
    ...       req:RFC2889-5.4    req:RFC2889-3-01
    Measure Its Cells
