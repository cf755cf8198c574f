*** Settings ***
Documentation       RFC 9411 with a mix of applications: connections with TLS and without, by turns, each for objects
...                 of its own. The mix with its shares stands in the report.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench


*** Test Cases ***
Application Traffic Mix
    [Documentation]    Ten transactions a connection; which ones by TLS, and for which objects, is the mix's.
    [Tags]    id:R9411-MIX-1    clause:rfc9411-7.1    req:RFC9411-7.1-01    metric:transaction_rate
    Measure Its Cells
