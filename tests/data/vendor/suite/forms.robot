*** Settings ***
Documentation       Proxies on the vendor's hosting form.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:http


*** Test Cases ***
Proxies That Give Way
    [Tags]    id:HP-OTHER-1    path:niced
    Measure Its Cells
