*** Settings ***
Documentation       Time from the request to start an instance until it serves the right body (RFC 8172 section 4.3).
...                 Each hosting form is a test; its objects and numbers come from the profile. A slow proxy
...                 fails no test; a repetition that did not hold does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:http    clause:rfc8172-4.3    req:RFC8172-4.3-01


*** Test Cases ***
Native
    [Tags]    id:HP-START-1    path:native
    Measure Its Cells

Docker Routed
    [Tags]    id:HP-START-2    path:docker_routed
    Measure Its Cells

Docker NAT
    [Tags]    id:HP-START-3    path:docker_nat
    Measure Its Cells

VM With An Emulated NIC
    [Tags]    id:HP-START-4    path:vm_full
    Measure Its Cells

VM With A Paravirtual NIC
    [Tags]    id:HP-START-5    path:vm_para
    Measure Its Cells

Pod Of Kubernetes
    [Tags]    id:HP-START-6    path:kubernetes
    Measure Its Cells
