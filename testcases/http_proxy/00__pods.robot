*** Settings ***
Documentation       One client at a time on a proxy in a pod, and the time until the pod serves, for each CNI
...                 option of the testbed. The documents say nothing of pods; the objects and numbers are those of
...                 the profile for the other forms. A slow proxy fails no test; a repetition that did not hold does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:http    clause:rfc8172-4.1    req:RFC8172-4.1-03    clause:rfc8172-4.3    req:RFC8172-4.3-01


*** Test Cases ***
Pod By Bridge
    [Tags]    id:HP-POD-1    path:pod_bridge
    Measure Its Cells

Pod By Point To Point
    [Tags]    id:HP-POD-2    path:pod_ptp
    Measure Its Cells

Pod By Macvlan
    [Tags]    id:HP-POD-3    path:pod_macvlan
    Measure Its Cells

Pod By Ipvlan
    [Tags]    id:HP-POD-4    path:pod_ipvlan
    Measure Its Cells

Pod By Host Device
    [Tags]    id:HP-POD-5    path:pod_host-device
    Measure Its Cells

Pod By VLAN
    [Tags]    id:HP-POD-6    path:pod_vlan
    Measure Its Cells

Pod By Each Other Option Of The Testbed
    [Documentation]    Every CNI option that the testbed file names beside those above.
    [Tags]    id:HP-POD-7    path:pod_other
    Measure Its Cells
