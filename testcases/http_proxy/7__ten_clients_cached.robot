*** Settings ***
Documentation       10 clients and one or two proxies with Squid's cache on (document 001, section 4.2): JMeter.
...                 Each hosting form is a test; its numbers come from the profile.
Resource            bmwg/resources/http_proxy/http.resource
Suite Setup         Open Http Bench
Test Template       Experiment Is Measured On Form
Test Tags           metric:http    clause:rfc8172-4.1    req:RFC8172-4.1-03


*** Test Cases ***
Native
    [Tags]    id:HP-TENCACHED-1    path:native
    ten_clients_cached    native

Docker Routed
    [Tags]    id:HP-TENCACHED-2    path:docker_routed
    ten_clients_cached    docker_routed

Docker NAT
    [Tags]    id:HP-TENCACHED-3    path:docker_nat
    ten_clients_cached    docker_nat

VM With An Emulated NIC
    [Tags]    id:HP-TENCACHED-4    path:vm_full
    ten_clients_cached    vm_full

VM With A Paravirtual NIC
    [Tags]    id:HP-TENCACHED-5    path:vm_para
    ten_clients_cached    vm_para
