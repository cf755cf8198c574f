*** Settings ***
Documentation       Disk of a host, native and in hosting forms on it (document 002). A form that is slower than
...                 native fails no test; one whose program told no figure does.
Resource            bmwg/resources/bench.resource
Suite Setup         Open Bench
Test Tags           clause:rfc8172-4.1    req:RFC8172-4.1-03    path:host


*** Test Cases ***
Random Reads And Writes By Sysbench
    [Tags]    id:HB-FILEIO-1    metric:sysbench_fileio
    Measure Its Cells

Written Rewritten And Read By Bonnie
    [Tags]    id:HB-BONNIE-1    metric:bonnie
    Measure Its Cells

Characters Seeks And Small Files By Bonnie
    [Tags]    id:HB-BONNIE-2    metric:bonnie_whole
    Measure Its Cells

Written By Dd
    [Tags]    id:HB-DDW-1    metric:dd_write
    Measure Its Cells

Read By Dd
    [Tags]    id:HB-DDR-1    metric:dd_read
    Measure Its Cells

Written By Fio
    [Tags]    id:HB-FIO-1    metric:fio_write
    Measure Its Cells

Random Reads By Fio
    [Tags]    id:HB-FIO-2    metric:fio_read
    Measure Its Cells

Transactions On A Database
    [Tags]    id:HB-OLTP-1    metric:mariadb
    Measure Its Cells
