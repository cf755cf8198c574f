*** Settings ***
Documentation       Latency at the throughput of each cell: percentiles over all frames of one trial (metric
...                 latency.all_frames.*), and the section's own average over tagged frames of streams.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Template       Benchmark Is Measured
Test Tags           metric:latency    clause:rfc2544-26.2    req:RFC2544-26.2-01


*** Test Cases ***
Latency Of All Frames At The Throughput
    [Tags]    id:R2544-LAT-1.1
    latency
