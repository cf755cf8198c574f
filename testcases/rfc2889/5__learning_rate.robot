*** Settings ***
Documentation       How fast a switch learns addresses: the same number of them told at other rates.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:address-learning-rate    clause:rfc2889-5.8


*** Test Cases ***
Address Learning Rate Of A Switch
    [Tags]    id:R2889-LEARN-1.1    path:switch    req:RFC2889-5.8.2    req:RFC2889-5.8.3-01    req:RFC2889-5.8.3-02
    ...       req:RFC2889-5.8.3-03
    Measure Its Cells
