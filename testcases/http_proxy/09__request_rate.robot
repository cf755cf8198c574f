*** Settings ***
Documentation       Requests per second that a proxy carries with nothing failed or late, by a constant rate of
...                 arrivals and the search of RFC 2544 26.1. Each hosting form is a test.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:http    clause:rfc8172-4.1    req:RFC8172-4.1-01


*** Test Cases ***
Native
    [Tags]    id:HP-RATE-1    path:native
    Measure Its Cells

Docker Routed
    [Tags]    id:HP-RATE-2    path:docker_routed
    Measure Its Cells

Docker NAT
    [Tags]    id:HP-RATE-3    path:docker_nat
    Measure Its Cells

VM With An Emulated NIC
    [Tags]    id:HP-RATE-4    path:vm_full
    Measure Its Cells

VM With A Paravirtual NIC
    [Tags]    id:HP-RATE-5    path:vm_para
    Measure Its Cells
