*** Settings ***
Documentation       Throughput by the binary search with loss verification of ETSI GS NFV-TST 009 (12.3.2 and
...                 12.3.3). It repeats a trial because it lost frames, so its metric has an id of its own.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:throughput    clause:tst009-12.3    req:TST009-8-01    req:TST009-12.3.3-04


*** Test Cases ***
Throughput By Binary Search With Loss Verification
    [Tags]    id:R2544-TPUT-2.1
    Measure Its Cells

Throughput Of Mixed Frame Sizes With Loss Verification
    [Tags]    id:R2544-IMIX-2.1    clause:rfc6985-4
    Measure Its Cells
