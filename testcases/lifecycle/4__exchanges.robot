*** Settings ***
Documentation       From the request to exchange what a function goes by, a firewall's rules or a switch's flows, to
...                 the first test frame that the new ones let through, and what is lost on the way (RFC 8172
...                 section 4.3), also beside half of the load that gets through (section 3.3). A long exchange
...                 fails no test. With profile `exchanges`.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           clause:rfc8172-4.3    clause:rfc8172-3.3    req:RFC8172-3.3-04


*** Test Cases ***
A Firewall's Rules While Frames Pass
    [Tags]    id:LC-EXCHANGE-1    metric:filter_exchange    path:node
    Measure Its Cells

A Switch's Flows While Frames Pass
    [Tags]    id:LC-EXCHANGE-2    metric:flow_exchange    path:switch
    Measure Its Cells
