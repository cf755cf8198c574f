*** Settings ***
Documentation       The vendor's experiment with pods.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           metric:toy_start


*** Test Cases ***
Start Of A Pod By The Vendor's Experiment
    [Tags]    id:LC-TOY-1    path:pvp
    Measure Its Cells
