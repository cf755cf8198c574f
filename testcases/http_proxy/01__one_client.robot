*** Settings ***
Documentation       One client at a time without a cache (document 000, first case): ab, objects of 1 kB to 10 MB.
...                 Each hosting form is a test; its objects and numbers come from the profile. A slow proxy
...                 fails no test; a repetition that did not hold does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:http    clause:rfc8172-4.1    req:RFC8172-4.1-03


*** Test Cases ***
Native
    [Tags]    id:HP-ONE-1    path:native
    Measure Its Cells

Docker Routed
    [Tags]    id:HP-ONE-2    path:docker_routed
    Measure Its Cells

Docker NAT
    [Tags]    id:HP-ONE-3    path:docker_nat
    Measure Its Cells

VM With An Emulated NIC
    [Tags]    id:HP-ONE-4    path:vm_full
    Measure Its Cells

VM With A Paravirtual NIC
    [Tags]    id:HP-ONE-5    path:vm_para
    Measure Its Cells

Pod Of Kubernetes
    [Tags]    id:HP-ONE-6    path:kubernetes
    Measure Its Cells
