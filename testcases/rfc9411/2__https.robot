*** Settings ***
Documentation       RFC 9411 with HTTPS on reverse proxies that end TLS: connections per second, throughput, concurrent
...                 connections. TLS version, cipher and key are an axis of each test's cells.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench


*** Test Cases ***
Connections Per Second
    [Documentation]    A full handshake and one transaction for each connection.
    [Tags]    id:R9411-CPS-2    clause:rfc9411-7.6    req:RFC9411-7.6-01    req:RFC9411-7.8-01    metric:connection_rate
    Measure Its Cells

Throughput
    [Documentation]    A full handshake and ten transactions for each connection.
    [Tags]    id:R9411-TPUT-2    clause:rfc9411-7.7    req:RFC9411-7.7-01    req:RFC9411-7.8-01
    ...       metric:transaction_rate
    Measure Its Cells

Concurrent Connections
    [Documentation]    Connections with TLS that are opened, ask ten times and stay.
    [Tags]    id:R9411-CONC-2    clause:rfc9411-7.9    req:RFC9411-7.9-01    metric:concurrent_connections
    Measure Its Cells
