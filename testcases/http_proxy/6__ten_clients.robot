*** Settings ***
Documentation       10 clients and one or two proxies without a cache (document 001, section 4.1): JMeter.
...                 Each hosting form is a test; its numbers come from the profile.
Resource            bmwg/resources/http_proxy/http.resource
Suite Setup         Open Http Bench
Test Template       Experiment Is Measured On Form
Test Tags           metric:http    clause:rfc8172-4.1    req:RFC8172-4.1-03


*** Test Cases ***
Native
    [Tags]    id:HP-TEN-1    path:native
    ten_clients    native

Docker Routed
    [Tags]    id:HP-TEN-2    path:docker_routed
    ten_clients    docker_routed

Docker NAT
    [Tags]    id:HP-TEN-3    path:docker_nat
    ten_clients    docker_nat

VM With An Emulated NIC
    [Tags]    id:HP-TEN-4    path:vm_full
    ten_clients    vm_full

VM With A Paravirtual NIC
    [Tags]    id:HP-TEN-5    path:vm_para
    ten_clients    vm_para
