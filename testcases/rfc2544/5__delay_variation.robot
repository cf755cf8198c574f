*** Settings ***
Documentation       Packet delay variation of RFC 8219 7.3.1 at the throughput: the 99.9th percentile of the delay
...                 less the smallest, over all frames of a stream; the answer is the median over the streams.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Template       Benchmark Is Measured
Test Tags           metric:delay-variation    clause:rfc8219-7.3.1    clause:rfc5481-4.2    req:RFC8219-7.3.1-01
...                 req:RFC8219-7.3.1-04    req:RFC8219-7.3.1-05    req:RFC8219-7.3.1-06


*** Test Cases ***
Packet Delay Variation At The Throughput
    [Tags]    id:R2544-PDV-1.1
    delay_variation
