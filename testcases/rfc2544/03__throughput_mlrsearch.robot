*** Settings ***
Documentation       Conditional throughput by MLRsearch (RFC 9971): several goals in one search, one outcome a
...                 goal, each with its relevant bounds.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    clause:rfc9971-4.8    req:RFC9971-4.8.3-01    req:RFC9971-4.8.4.1-01
...                 req:RFC9971-4.8.4.1-05    req:RFC9971-4.8.4.1-06    req:RFC9971-4.8.5-02
...                 req:RFC9971-4.8.4.3    req:RFC9971-4.5.8-02    req:RFC9971-4.5.8-03    req:RFC9971-4.9.3-01


*** Test Cases ***
Conditional Throughput Of Every Search Goal
    [Tags]    id:R2544-TPUT-3.1
    Measure Its Cells

Conditional Throughput Of Mixed Frame Sizes
    [Tags]    id:R2544-IMIX-3.1    clause:rfc6985-4
    Measure Its Cells
