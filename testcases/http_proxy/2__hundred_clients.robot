*** Settings ***
Documentation       100 clients at the same time without a cache (document 000, second case).
...                 Each hosting form is a test; its objects and numbers come from the profile. A slow proxy
...                 fails no test; a repetition that did not hold does.
Resource            bmwg/resources/http_proxy/http.resource
Suite Setup         Open Http Bench
Test Template       Experiment Is Measured On Form
Test Tags           metric:http    clause:rfc8172-4.1    req:RFC8172-4.1-03


*** Test Cases ***
Native
    [Tags]    id:HP-HUNDRED-1    path:native
    hundred_clients    native

Docker Routed
    [Tags]    id:HP-HUNDRED-2    path:docker_routed
    hundred_clients    docker_routed

Docker NAT
    [Tags]    id:HP-HUNDRED-3    path:docker_nat
    hundred_clients    docker_nat

VM With An Emulated NIC
    [Tags]    id:HP-HUNDRED-4    path:vm_full
    hundred_clients    vm_full

VM With A Paravirtual NIC
    [Tags]    id:HP-HUNDRED-5    path:vm_para
    hundred_clients    vm_para
