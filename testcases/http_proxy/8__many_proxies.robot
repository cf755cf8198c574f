*** Settings ***
Documentation       64 clients over 1 to 32 proxies in containers (document 001, section 4.3): JMeter.
...                 Each hosting form is a test; its numbers come from the profile.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:http    clause:rfc8172-4.1    req:RFC8172-4.1-02


*** Test Cases ***
Docker Routed
    [Tags]    id:HP-MANY-2    path:docker_routed
    Measure Its Cells

Docker NAT
    [Tags]    id:HP-MANY-3    path:docker_nat
    Measure Its Cells
