*** Settings ***
Documentation       Throughput on the vendor's path and network.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    clause:rfc2544-26.1    req:RFC2544-26.1-01


*** Test Cases ***
Throughput Of A Bridging Node
    [Tags]    id:TOY-TPUT-1.1    path:l2-node
    Measure Its Cells

Throughput Of A Pod On The Vendor's Network
    [Tags]    id:TOY-TPUT-1.2    path:pvp
    Measure Its Cells
