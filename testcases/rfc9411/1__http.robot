*** Settings ***
Documentation       RFC 9411 with HTTP on reverse proxies: connections per second, throughput, concurrent connections.
...                 Profiles `rfc9411` (the document's lengths) and `rfc9411-quick`; functions, hosting forms and object
...                 sizes are cells of each test.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench


*** Test Cases ***
Connections Per Second
    [Documentation]    One transaction a connection, which the client closes.
    [Tags]    id:R9411-CPS-1    clause:rfc9411-7.2    req:RFC9411-7.2-01    req:RFC9411-7.4-01    metric:connection_rate
    Measure Its Cells

Throughput
    [Documentation]    Ten transactions a connection.
    [Tags]    id:R9411-TPUT-1    clause:rfc9411-7.3    req:RFC9411-7.3-01    req:RFC9411-7.4-01
    ...       metric:transaction_rate
    Measure Its Cells

Concurrent Connections
    [Documentation]    Connections that are opened, ask ten times and stay.
    [Tags]    id:R9411-CONC-1    clause:rfc9411-7.5    req:RFC9411-7.5-01    metric:concurrent_connections
    Measure Its Cells
