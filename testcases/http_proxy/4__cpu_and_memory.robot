*** Settings ***
Documentation       CPU and memory of the proxy with one client and no other load (document 001, table 1).
...                 Each hosting form is a test; its objects and numbers come from the profile. A slow proxy
...                 fails no test; a repetition that did not hold does.
Resource            bmwg/resources/http_proxy/http.resource
Suite Setup         Open Http Bench
Test Template       Experiment Is Measured On Form
Test Tags           metric:http    clause:rfc8172-3.4    req:RFC8172-3.4-05


*** Test Cases ***
Native
    [Tags]    id:HP-USE-1    path:native
    resources    native

Docker Routed
    [Tags]    id:HP-USE-2    path:docker_routed
    resources    docker_routed

Docker NAT
    [Tags]    id:HP-USE-3    path:docker_nat
    resources    docker_nat

VM With An Emulated NIC
    [Tags]    id:HP-USE-4    path:vm_full
    resources    vm_full

VM With A Paravirtual NIC
    [Tags]    id:HP-USE-5    path:vm_para
    resources    vm_para
