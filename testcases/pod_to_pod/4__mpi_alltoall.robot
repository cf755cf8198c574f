*** Settings ***
Documentation       Time of MPI_Alltoall between pods (document 003, backup slides), by Open MPI in the pods:
...                 blocks of 16 KiB, one to four processes a pod. Pods on one node are the document's same host,
...                 on two nodes its different hosts. More processes than CPUs are indicative alone,
...                 and the report says so.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:all_to_all_time    clause:draft-dcn-bmwg-containerized-infra-4    req:DCN-s4-01
...                 req:DCN-s4-05    req:DCN-s3.2-01    req:DCN-s5


*** Test Cases ***
Between Pods Of One Node
    [Tags]    id:PP-MPI-1    path:p2p
    Measure Its Cells

Between Pods Of Two Nodes
    [Tags]    id:PP-MPI-2    path:p2p-underlay
    Measure Its Cells

Between Pods Of Two Nodes By VXLAN
    [Tags]    id:PP-MPI-3    path:p2p-vxlan
    Measure Its Cells

Between Pods Of Two Nodes By The Network's Own Way
    [Tags]    id:PP-MPI-5    path:p2p-cluster
    Measure Its Cells

From A Pod Of The Host To A Pod In Its Guest
    [Tags]    id:PP-MPI-7    path:bmp2vmp    req:DCN-s4-02    req:DCN-s4-06
    Measure Its Cells

Between Pods In Two Guests
    [Tags]    id:PP-MPI-8    path:vmp2vmp    req:DCN-s4-03    req:DCN-s4-06
    Measure Its Cells

From A Pod Of A Host To A Pod In A Guest Of Another
    [Tags]    id:PP-MPI-9    path:bmp2vmp-remote    req:DCN-s4-02    req:DCN-s4-06
    Measure Its Cells

Between Pods In Guests Of Two Hosts
    [Tags]    id:PP-MPI-10    path:vmp2vmp-remote    req:DCN-s4-03    req:DCN-s4-06
    Measure Its Cells

From A Pod Of A Host To A Pod In A Guest Of Another By VXLAN
    [Tags]    id:PP-MPI-11    path:bmp2vmp-vxlan    req:DCN-s4-02    req:DCN-s4-06
    Measure Its Cells

Between Pods In Guests Of Two Hosts By VXLAN
    [Tags]    id:PP-MPI-12    path:vmp2vmp-vxlan    req:DCN-s4-03    req:DCN-s4-06
    Measure Its Cells
