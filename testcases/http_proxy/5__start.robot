*** Settings ***
Documentation       Time from the request to start an instance until it serves the right body (RFC 8172 section 4.3).
...                 Each hosting form is a test; its objects and numbers come from the profile. A slow proxy
...                 fails no test; a repetition that did not hold does.
Resource            bmwg/resources/http_proxy/http.resource
Suite Setup         Open Http Bench
Test Template       Experiment Is Measured On Form
Test Tags           metric:http    clause:rfc8172-4.3    req:RFC8172-4.3-01


*** Test Cases ***
Native
    [Tags]    id:HP-START-1    path:native
    start    native

Docker Routed
    [Tags]    id:HP-START-2    path:docker_routed
    start    docker_routed

Docker NAT
    [Tags]    id:HP-START-3    path:docker_nat
    start    docker_nat

VM With An Emulated NIC
    [Tags]    id:HP-START-4    path:vm_full
    start    vm_full

VM With A Paravirtual NIC
    [Tags]    id:HP-START-5    path:vm_para
    start    vm_para
