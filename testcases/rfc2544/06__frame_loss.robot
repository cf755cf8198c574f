*** Settings ***
Documentation       Frame loss rate of RFC 2544 section 26.3: from the highest load down in steps of at most a tenth,
...                 until two loads in succession lose nothing.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:frame-loss    clause:rfc2544-26.3    req:RFC2544-26.3-01    req:RFC2544-26.3-02
...                 req:RFC2544-26.3-03    req:RFC2544-26.3-04    req:RFC2544-26.3-06
...                 req:RFC2544-26.3-07    req:RFC2544-26.3-08


*** Test Cases ***
Frame Loss Rate From The Highest Load Down
    [Tags]    id:R2544-LOSS-1.1
    Measure Its Cells
