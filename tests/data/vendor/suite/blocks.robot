*** Settings ***
Documentation       Blocks that this machine hashes: a kind of load of the vendor's own.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:hash_rate


*** Test Cases ***
Blocks Hashed On This Machine
    [Tags]    id:TOY-HASH-1
    Measure Its Cells
