*** Settings ***
Documentation       One client at a time with Squid's cache on (document 000, third case).
...                 Each hosting form is a test; its objects and numbers come from the profile. A slow proxy
...                 fails no test; a repetition that did not hold does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:http    clause:rfc8172-4.1    req:RFC8172-4.1-03


*** Test Cases ***
Native
    [Tags]    id:HP-CACHED-1    path:native
    Measure Its Cells

Docker Routed
    [Tags]    id:HP-CACHED-2    path:docker_routed
    Measure Its Cells

Docker NAT
    [Tags]    id:HP-CACHED-3    path:docker_nat
    Measure Its Cells

VM With An Emulated NIC
    [Tags]    id:HP-CACHED-4    path:vm_full
    Measure Its Cells

VM With A Paravirtual NIC
    [Tags]    id:HP-CACHED-5    path:vm_para
    Measure Its Cells
