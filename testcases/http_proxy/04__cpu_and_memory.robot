*** Settings ***
Documentation       CPU and memory of the proxy with one client and no other load (document 001, table 1).
...                 Each hosting form is a test; its objects and numbers come from the profile. A slow proxy
...                 fails no test; a repetition that did not hold does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:http    clause:rfc8172-3.4    req:RFC8172-3.4-05


*** Test Cases ***
Native
    [Tags]    id:HP-USE-1    path:native
    Measure Its Cells

Docker Routed
    [Tags]    id:HP-USE-2    path:docker_routed
    Measure Its Cells

Docker NAT
    [Tags]    id:HP-USE-3    path:docker_nat
    Measure Its Cells

VM With An Emulated NIC
    [Tags]    id:HP-USE-4    path:vm_full
    Measure Its Cells

VM With A Paravirtual NIC
    [Tags]    id:HP-USE-5    path:vm_para
    Measure Its Cells
