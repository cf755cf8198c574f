*** Settings ***
Documentation       What a cluster itself makes: the way between the pods of two nodes by its network's
...                 daemons (flannel, Cilium), the way between pods of one node by Cilium's programs, and a
...                 Service in front of a pod (ClusterIP or NodePort by the rules of kube-proxy, LoadBalancer by
...                 the user's implementation too). They are host bridge and routes of
...                 draft-ietf-bmwg-containerized-infra 5.1.1, and with Cilium the eBPF model of 5.1.2.2.
...                 The profile names the network options; without a cluster that has them the cells are not
...                 assessed, by name.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench


*** Test Cases ***
Throughput Pod To Pod On Two Nodes By The Network Of The Cluster
    [Tags]    id:CN-TPUT-4.1    path:p2p-cluster    metric:throughput
    ...       clause:draft-ietf-bmwg-containerized-infra-5.1.1    req:CINF08-5.1.1-01
    ...       req:CINF08-5.1.1-02    req:CINF08-5.1.1-04
    Measure Its Cells

Throughput Pod To Pod Through A Service
    [Tags]    id:CN-TPUT-4.2    path:p2p-service    metric:throughput
    ...       clause:draft-ietf-bmwg-containerized-infra-5.1.1    req:CINF08-5.1.1-01
    ...       req:CINF08-5.1.1-02    req:CINF08-5.1.1-04
    Measure Its Cells

Throughput Pod To Pod On One Node By The Network Of The Cluster
    [Tags]    id:CN-TPUT-4.3    path:p2p    metric:throughput    model:ebpf
    ...       clause:draft-ietf-bmwg-containerized-infra-5.1.2.2    req:CINF08-5.1.2.2-01
    Measure Its Cells

Throughput Pod To Pod Through A Service's Node Port
    [Tags]    id:CN-TPUT-4.4    path:p2p-nodeport    metric:throughput
    ...       clause:draft-ietf-bmwg-containerized-infra-5.1.1    req:CINF08-5.1.1-01
    ...       req:CINF08-5.1.1-02    req:CINF08-5.1.1-04
    Measure Its Cells

Throughput Pod To Pod Through A Service's Load Balancer
    [Tags]    id:CN-TPUT-4.5    path:p2p-loadbalancer    metric:throughput
    ...       clause:draft-ietf-bmwg-containerized-infra-5.1.1    req:CINF08-5.1.1-01
    ...       req:CINF08-5.1.1-02    req:CINF08-5.1.1-04
    Measure Its Cells

Latency Pod To Pod On Two Nodes By The Network Of The Cluster
    [Tags]    id:CN-LAT-4.1    path:p2p-cluster    metric:latency
    ...       clause:draft-ietf-bmwg-containerized-infra-5.1.1    req:CINF08-5.1.1-01
    ...       req:CINF08-5.1.1-02    req:CINF08-5.1.1-04
    Measure Its Cells

Latency Pod To Pod Through A Service
    [Tags]    id:CN-LAT-4.2    path:p2p-service    metric:latency
    ...       clause:draft-ietf-bmwg-containerized-infra-5.1.1    req:CINF08-5.1.1-01
    ...       req:CINF08-5.1.1-02    req:CINF08-5.1.1-04
    Measure Its Cells

Latency Pod To Pod On One Node By The Network Of The Cluster
    [Tags]    id:CN-LAT-4.3    path:p2p    metric:latency    model:ebpf
    ...       clause:draft-ietf-bmwg-containerized-infra-5.1.2.2    req:CINF08-5.1.2.2-01
    Measure Its Cells

Latency Pod To Pod Through A Service's Node Port
    [Tags]    id:CN-LAT-4.4    path:p2p-nodeport    metric:latency
    ...       clause:draft-ietf-bmwg-containerized-infra-5.1.1    req:CINF08-5.1.1-01
    ...       req:CINF08-5.1.1-02    req:CINF08-5.1.1-04
    Measure Its Cells

Latency Pod To Pod Through A Service's Load Balancer
    [Tags]    id:CN-LAT-4.5    path:p2p-loadbalancer    metric:latency
    ...       clause:draft-ietf-bmwg-containerized-infra-5.1.1    req:CINF08-5.1.1-01
    ...       req:CINF08-5.1.1-02    req:CINF08-5.1.1-04
    Measure Its Cells
