*** Settings ***
Documentation       What a switch forwards at loads above its throughput: at the maximum offered load, and the highest
...                 rate of all.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:forwarding-rate    clause:rfc2889-5.6


*** Test Cases ***
Forwarding Rate Of A Switch By Pattern Of Ports
    [Tags]    id:R2889-FR-1.1    path:switch    clause:rfc2889-5.1.4.2    clause:rfc2889-5.10.4
    ...       req:RFC2889-5.1.4.2-01    req:RFC2889-5.1.4.2-02    req:RFC2889-5.1.4.2-03    req:RFC2889-5.1.4.2-04
    ...       req:RFC2889-5.6.3.1-02
    ...       req:RFC2889-5.6.3.1-03    req:RFC2889-5.6.5-01
    Measure Its Cells
