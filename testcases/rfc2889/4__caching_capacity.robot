*** Settings ***
Documentation       How many addresses a switch knows: told at one port, asked for at another, flooded ones seen at
...                 a third.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:address-caching-capacity    clause:rfc2889-5.7


*** Test Cases ***
Address Caching Capacity Of A Switch
    [Tags]    id:R2889-CACHE-1.1    path:switch    req:RFC2889-5.7.2    req:RFC2889-5.7.3-01    req:RFC2889-5.7.3-02
    ...       req:RFC2889-5.7.3-04    req:RFC2889-5.7.3-05    req:RFC2889-5.7.3-06    req:RFC2889-5.7.5-02
    Measure Its Cells
