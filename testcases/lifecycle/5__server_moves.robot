*** Settings ***
Documentation       From the request to move a server of an OpenStack to another compute host until frames come
...                 by it there (RFC 8172 section 4.3); by pre-copy and post-copy, idle and at half load. A long
...                 outage fails no test. With testbeds/openstack-two-hosts.yaml and profile `cloud-moves`.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           clause:rfc8172-4.3    path:pvp-vm-moving


*** Test Cases ***
From The Request To Move A Server To Frames At Its Other Host
    [Tags]    id:LC-MIGRATE-2    metric:server_move    req:RFC8172-4.3-02
    Measure Its Cells
