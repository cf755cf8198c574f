*** Settings ***
Documentation       64 clients over 1 to 32 proxies (document 001, section 4.3) in containers, and in pods of Kubernetes
...                 behind one Service: JMeter.
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

Kubernetes Pods Behind A Service
    [Tags]    id:HP-MANY-7    path:kubernetes_service
    Measure Its Cells
