*** Settings ***
Documentation       100 clients at the same time without a cache (document 000, second case).
...                 Each hosting form is a test; its objects and numbers come from the profile. A slow proxy
...                 fails no test; a repetition that did not hold does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:http    clause:rfc8172-4.1    req:RFC8172-4.1-03


*** Test Cases ***
Native
    [Tags]    id:HP-HUNDRED-1    path:native
    Measure Its Cells

Docker Routed
    [Tags]    id:HP-HUNDRED-2    path:docker_routed
    Measure Its Cells

Docker NAT
    [Tags]    id:HP-HUNDRED-3    path:docker_nat
    Measure Its Cells

VM With An Emulated NIC
    [Tags]    id:HP-HUNDRED-4    path:vm_full
    Measure Its Cells

VM With A Paravirtual NIC
    [Tags]    id:HP-HUNDRED-5    path:vm_para
    Measure Its Cells
