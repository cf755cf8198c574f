*** Settings ***
Documentation       Effects of factors on the throughput (draft-ietf-bmwg-containerized-infra 5.2): the combinations
...                 that the profile names, each as often as it says, in randomized blocks. The report has the ratio
...                 of each level with an interval, and names what the design cannot tell apart. A profile that
...                 names no design measures nothing; `BMWG_PROFILE=factors` is one.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    clause:draft-ietf-bmwg-containerized-infra-5.2    req:CINF08-5.2.4-03
...                 req:CINF08-5.2.6-01    req:CINF08-5.2.7-01


*** Test Cases ***
Throughput Of A Design Of Factors
    [Tags]    id:CN-TPUT-7.1
    Measure Its Cells
