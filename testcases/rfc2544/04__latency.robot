*** Settings ***
Documentation       Latency at the throughput of each cell: percentiles over all frames of one trial (metric
...                 latency.all_frames.*), and the section's own average over tagged frames of streams.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:latency    clause:rfc2544-26.2    req:RFC2544-26.2-01


*** Test Cases ***
Latency Of All Frames At The Throughput
    [Tags]    id:R2544-LAT-1.1
    Measure Its Cells

Latency Of One Tagged Frame A Stream
    [Tags]    id:R2544-LAT-2.1    req:RFC2544-26.2-03    req:RFC2544-26.2-06
    Measure Its Cells

Typical And Worst Case Latency Of Tagged Frames
    [Tags]    id:R2544-LAT-3.1    clause:rfc8219-7.2    req:RFC8219-7.2-02    req:RFC8219-7.2-03
    ...       req:RFC8219-7.2-06    req:RFC8219-7.2-07
    Measure Its Cells
