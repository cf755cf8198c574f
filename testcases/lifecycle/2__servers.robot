*** Settings ***
Documentation       From the request for a server of an OpenStack and its ports to the first test frame that it has
...                 forwarded, by steps, and from the request to delete it until it is gone (RFC 8172 section 4.3); one
...                 server at a time, and two at once. With testbeds/openstack.yaml and profile `cloud`; and, with
...                 profile `cloud-resize`, from the request for another flavor to frames with it (section 3.3).
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           clause:rfc8172-4.3    path:pvp-vm    req:RFC8172-4.3-01


*** Test Cases ***
From Request To First Forwarded Frame Of A Server
    [Tags]    id:LC-START-2    metric:server_start    req:RFC8172-4.3-03
    Measure Its Cells

Servers That Are Asked For At Once
    [Tags]    id:LC-BATCH-1    metric:server_batch
    Measure Its Cells

From The Request To Change A Server's Memory Or CPUs To Frames With It
    [Tags]    id:LC-RESIZE-3    metric:server_resize    clause:rfc8172-3.3    req:RFC8172-3.3-04
    Measure Its Cells
