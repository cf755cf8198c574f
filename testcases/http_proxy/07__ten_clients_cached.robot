*** Settings ***
Documentation       10 clients and one or two proxies with Squid's cache on (document 001, section 4.2): JMeter.
...                 Each hosting form is a test; its numbers come from the profile.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:http    clause:rfc8172-4.1    req:RFC8172-4.1-03


*** Test Cases ***
Native
    [Tags]    id:HP-TENCACHED-1    path:native
    Measure Its Cells

Docker Routed
    [Tags]    id:HP-TENCACHED-2    path:docker_routed
    Measure Its Cells

Docker NAT
    [Tags]    id:HP-TENCACHED-3    path:docker_nat
    Measure Its Cells

VM With An Emulated NIC
    [Tags]    id:HP-TENCACHED-4    path:vm_full
    Measure Its Cells

VM With A Paravirtual NIC
    [Tags]    id:HP-TENCACHED-5    path:vm_para
    Measure Its Cells
