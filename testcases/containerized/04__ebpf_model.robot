*** Settings ***
Documentation       Pods joined by programs inside the kernel: at the tc hooks of NIC and pod, and at the XDP hook of a
...                 NIC whose frames go to an AF_XDP socket in the pod (draft-ietf-bmwg-containerized-infra 5.1.2.2).
...                 The profile names the network options; what the kernel lacks is not assessed, by name.
...                 `--include model:ebpf` measures these alone.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           model:ebpf    path:pvp    clause:draft-ietf-bmwg-containerized-infra-5.1.2.2
...                 req:CINF08-5.1.2.2-01    req:CINF08-5.1.2.2-02    req:CINF08-5.1.2.2-03


*** Test Cases ***
Throughput Of A Pod Behind Programs In The Kernel
    [Tags]    id:CN-TPUT-3.1    metric:throughput
    Measure Its Cells

Latency Of A Pod Behind Programs In The Kernel
    [Tags]    id:CN-LAT-3.1    metric:latency
    Measure Its Cells
