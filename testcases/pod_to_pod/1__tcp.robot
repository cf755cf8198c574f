*** Settings ***
Documentation       Goodput of TCP from pod to pod and back (document 003, BMP2BMP), by iperf3 in the pods. Each way
...                 between the pods is a test; network options and numbers come from the profile. A slow path
...                 fails no test; an execution whose streams did not go over the path does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:goodput    clause:draft-dcn-bmwg-containerized-infra-4    req:DCN-s4-01    req:DCN-s4-05
...                 req:DCN-s3.2-01    req:DCN-s5


*** Test Cases ***
Between Pods Of One Node
    [Tags]    id:PP-TCP-1    path:p2p
    Measure Its Cells

Between Pods Of Two Nodes
    [Tags]    id:PP-TCP-2    path:p2p-underlay
    Measure Its Cells

Between Pods Of Two Nodes By VXLAN
    [Tags]    id:PP-TCP-3    path:p2p-vxlan
    Measure Its Cells

Between Pods Of Two Nodes By The Network's Own Way
    [Tags]    id:PP-TCP-5    path:p2p-cluster
    Measure Its Cells

Between Containers Of One Pod
    [Tags]    id:PP-TCP-6    path:c2c    req:DCN-s4-04
    Measure Its Cells

From A Pod Of The Host To A Pod In Its Guest
    [Tags]    id:PP-TCP-7    path:bmp2vmp    req:DCN-s4-02    req:DCN-s4-06
    Measure Its Cells

Between Pods In Two Guests
    [Tags]    id:PP-TCP-8    path:vmp2vmp    req:DCN-s4-03    req:DCN-s4-06
    Measure Its Cells

From A Pod Of A Host To A Pod In A Guest Of Another
    [Tags]    id:PP-TCP-9    path:bmp2vmp-remote    req:DCN-s4-02    req:DCN-s4-06
    Measure Its Cells

Between Pods In Guests Of Two Hosts
    [Tags]    id:PP-TCP-10    path:vmp2vmp-remote    req:DCN-s4-03    req:DCN-s4-06
    Measure Its Cells

From A Pod Of A Host To A Pod In A Guest Of Another By VXLAN
    [Tags]    id:PP-TCP-11    path:bmp2vmp-vxlan    req:DCN-s4-02    req:DCN-s4-06
    Measure Its Cells

Between Pods In Guests Of Two Hosts By VXLAN
    [Tags]    id:PP-TCP-12    path:vmp2vmp-vxlan    req:DCN-s4-03    req:DCN-s4-06
    Measure Its Cells
