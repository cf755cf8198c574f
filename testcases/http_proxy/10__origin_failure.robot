*** Settings ***
Documentation       What a proxy answers while its origin fails, and how soon it answers again: an experiment of ours,
...                 asked for by no document. With profile `origin`; functions, caches and ways of failing are cells
...                 of the one test. Failed requests fail no test.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:answered_without_origin    clause:rfc8172-4.4    req:RFC8172-4.4-02
...                 path:client-proxy-server


*** Test Cases ***
Requests While The Origin Fails
    [Tags]    id:HP-FAIL-1
    Measure Its Cells
