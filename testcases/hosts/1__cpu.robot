*** Settings ***
Documentation       CPU of a host, native and in hosting forms on it (document 002). A form that is slower than
...                 native fails no test; one whose program told no figure does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           clause:rfc8172-4.1    req:RFC8172-4.1-03    path:host


*** Test Cases ***
Primes By Sysbench
    [Tags]    id:HB-CPU-1    metric:sysbench_cpu
    Measure Its Cells

Threads That Wait For Each Other
    [Tags]    id:HB-THREADS-1    metric:sysbench_threads
    Measure Its Cells

Linpack By HPL
    [Tags]    id:HB-LINPACK-1    metric:linpack
    Measure Its Cells

Bytemark By Nbench
    [Tags]    id:HB-NBENCH-1    metric:nbench
    Measure Its Cells
