*** Settings ***
Documentation       Goodput and loss of UDP datagrams from pod to pod and back (document 003, BMP2BMP), by iperf3 in
...                 the pods, at a rate and as fast as it goes. Each way between the pods is a test.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:goodput    clause:draft-dcn-bmwg-containerized-infra-4    req:DCN-s4-01    req:DCN-s4-05
...                 req:DCN-s3.2-01    req:DCN-s5


*** Test Cases ***
Between Pods Of One Node
    [Tags]    id:PP-UDP-1    path:p2p
    Measure Its Cells

Between Pods Of Two Nodes
    [Tags]    id:PP-UDP-2    path:p2p-underlay
    Measure Its Cells

Between Pods Of Two Nodes By VXLAN
    [Tags]    id:PP-UDP-3    path:p2p-vxlan
    Measure Its Cells

Between Pods Of Two Nodes By The Network's Own Way
    [Tags]    id:PP-UDP-5    path:p2p-cluster
    Measure Its Cells

From A Pod Of The Host To A Pod In Its Guest
    [Tags]    id:PP-UDP-7    path:bmp2vmp    req:DCN-s4-02    req:DCN-s4-06
    Measure Its Cells

Between Pods In Two Guests
    [Tags]    id:PP-UDP-8    path:vmp2vmp    req:DCN-s4-03    req:DCN-s4-06
    Measure Its Cells

From A Pod Of A Host To A Pod In A Guest Of Another
    [Tags]    id:PP-UDP-9    path:bmp2vmp-remote    req:DCN-s4-02    req:DCN-s4-06
    Measure Its Cells

Between Pods In Guests Of Two Hosts
    [Tags]    id:PP-UDP-10    path:vmp2vmp-remote    req:DCN-s4-03    req:DCN-s4-06
    Measure Its Cells

From A Pod Of A Host To A Pod In A Guest Of Another By VXLAN
    [Tags]    id:PP-UDP-11    path:bmp2vmp-vxlan    req:DCN-s4-02    req:DCN-s4-06
    Measure Its Cells

Between Pods In Guests Of Two Hosts By VXLAN
    [Tags]    id:PP-UDP-12    path:vmp2vmp-vxlan    req:DCN-s4-03    req:DCN-s4-06
    Measure Its Cells
