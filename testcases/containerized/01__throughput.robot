*** Settings ***
Documentation       Throughput after RFC 2544 section 26.1, on the baseline ladder and on each path and network
...                 option of the testbed. Options and frame sizes come from the testbed file and the profile;
...                 each cell has an outcome of its own in run.json. A slow device fails no test; a procedure
...                 that did not hold does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    clause:rfc2544-26.1    req:RFC2544-26.1-01


*** Test Cases ***
Tester Envelope On The Wire
    [Tags]    id:CN-TPUT-1.1    path:wire
    Measure Its Cells

Throughput Of Node Forwarding
    [Tags]    id:CN-TPUT-1.2    path:node
    Measure Its Cells

Throughput Of A Forwarding Pod
    [Tags]    id:CN-TPUT-1.3    path:pvp    model:kernel
    Measure Its Cells

Throughput Pod To Pod On One Node
    [Tags]    id:CN-TPUT-1.4    path:p2p    model:kernel
    Measure Its Cells

Throughput Pod To Pod On Two Nodes Over An Underlay
    [Tags]    id:CN-TPUT-1.5    path:p2p-underlay    model:kernel
    Measure Its Cells

Throughput Pod To Pod On Two Nodes Over VXLAN
    [Tags]    id:CN-TPUT-1.6    path:p2p-vxlan    model:kernel
    Measure Its Cells

Throughput Of A VSwitch Between The Tester's Own Ports
    [Tags]    id:CN-TPUT-1.7    path:vswitch-only
    Measure Its Cells
