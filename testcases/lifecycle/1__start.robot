*** Settings ***
Documentation       From the request for a pod and its networks to the first test frame that it has forwarded, by
...                 steps, and from the request to remove it until it is gone (RFC 8172 section 4.3). A slow start
...                 fails no test; a start whose frames were not offered all the time does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           clause:rfc8172-4.3    path:pvp


*** Test Cases ***
From Request To First Forwarded Frame
    [Tags]    id:LC-START-1    metric:pod_start    req:RFC8172-4.3-01    req:RFC8172-4.3-03
    Measure Its Cells

Pods That Are Asked For At Once
    [Tags]    id:LC-SCALE-1    metric:pod_scale    req:RFC8172-4.3-01    req:RFC8172-4.3-03
    Measure Its Cells

Made And Removed One After The Other
    [Tags]    id:LC-CHURN-1    metric:pod_churn    req:RFC8172-4.3-01
    Measure Its Cells

Starts That May Fail
    [Tags]    id:LC-FAIL-1    metric:pod_stand_up    clause:rfc8172-4.4    req:RFC8172-4.4-02
    Measure Its Cells

As Many As Fit Beside Each Other
    [Tags]    id:LC-FIT-1    metric:pod_capacity    clause:rfc8172-2    req:RFC8172-2-02
    Measure Its Cells

From Request To First Forwarded Frame Beside A Pod That Runs
    [Tags]    id:LC-START-4    metric:pod_start_beside    clause:rfc8172-3.3    req:RFC8172-3.3-04    req:RFC8172-4.3-03
    Measure Its Cells

From The Request To Change A Pod's Limit To Frames With It
    [Tags]    id:LC-RESIZE-2    metric:pod_resize    clause:rfc8172-3.3    req:RFC8172-3.3-04
    Measure Its Cells

From The Request For One Replica More Or Less To Frames With It
    [Tags]    id:LC-REPLICA-1    metric:replica_change    clause:rfc8172-3.3    req:RFC8172-3.3-04
    Measure Its Cells

From Request To A Policy In Force
    [Tags]    id:LC-POLICY-1    metric:policy_programming    req:RFC8172-4.3-03
    Measure Its Cells

From A Pod's Eviction To Frames By The Next One
    [Tags]    id:LC-DRAIN-1    metric:node_drain    req:RFC8172-4.3-03
    Measure Its Cells
