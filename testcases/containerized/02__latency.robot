*** Settings ***
Documentation       Latency of every frame at the throughput of each cell. RFC 2544 section 26.2 asks for the
...                 throughput first; where this run has not found it yet, it is found here. The figures are
...                 percentiles over all frames (metric latency.all_frames.*), not the section's own average
...                 over twenty tagged frames.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:latency    clause:rfc2544-26.2    req:RFC2544-26.2-01


*** Test Cases ***
Latency On The Wire
    [Tags]    id:CN-LAT-1.1    path:wire
    Measure Its Cells

Latency Of Node Forwarding
    [Tags]    id:CN-LAT-1.2    path:node
    Measure Its Cells

Latency Of A Forwarding Pod
    [Tags]    id:CN-LAT-1.3    path:pvp    model:kernel
    Measure Its Cells

Latency Pod To Pod On One Node
    [Tags]    id:CN-LAT-1.4    path:p2p    model:kernel
    Measure Its Cells

Latency Pod To Pod On Two Nodes Over An Underlay
    [Tags]    id:CN-LAT-1.5    path:p2p-underlay    model:kernel
    Measure Its Cells

Latency Pod To Pod On Two Nodes Over VXLAN
    [Tags]    id:CN-LAT-1.6    path:p2p-vxlan    model:kernel
    Measure Its Cells

Latency Of A VSwitch Between The Tester's Own Ports
    [Tags]    id:CN-LAT-1.7    path:vswitch-only
    Measure Its Cells
