*** Settings ***
Documentation       Delay variation at the throughput. Packet delay variation of RFC 8219 7.3.1: the 99.9th percentile
...                 of the delay less the smallest, over all frames of a stream. Inter-packet delay variation of
...                 RFC 5481 4.1: the delay of a frame less that of the one sent before it, over the last frames of
...                 a stream. Answers are medians over the streams.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:delay-variation


*** Test Cases ***
Packet Delay Variation At The Throughput
    [Tags]    id:R2544-PDV-1.1    clause:rfc8219-7.3.1    clause:rfc5481-4.2    req:RFC8219-7.3.1-01
    ...       req:RFC8219-7.3.1-04    req:RFC8219-7.3.1-05    req:RFC8219-7.3.1-06
    Measure Its Cells

Inter Packet Delay Variation At The Throughput
    [Tags]    id:R2544-IPDV-1.1    clause:rfc5481-4.1    clause:rfc8219-7.3.2    req:RFC8219-7.3.2-02
    ...       req:RFC8219-7.3.2-03    req:RFC8219-7.3.2-05    req:TST009-10-01
    Measure Its Cells
