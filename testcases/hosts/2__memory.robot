*** Settings ***
Documentation       Memory of a host, native and in hosting forms on it (document 002). A form that is slower than
...                 native fails no test; one whose program told no figure does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           clause:rfc8172-4.1    req:RFC8172-4.1-03    path:host


*** Test Cases ***
Memory Written By Sysbench
    [Tags]    id:HB-MEM-1    metric:sysbench_memory
    Measure Its Cells

Bandwidth By Stream
    [Tags]    id:HB-STREAM-1    metric:stream
    Measure Its Cells
