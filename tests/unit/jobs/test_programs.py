"""What is read of the programs' outputs, as they wrote them, and that nothing else becomes a number."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.jobs.made import planned

from bmwg.drivers.workload import bonnie, dd, fio, hpcc, mariadb, nbench, sysbench
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.jobs.kind import JOBS
from bmwg.methodology.kinds.jobs.profile import EXPERIMENTS
from bmwg.methodology.records import Validity

DATA = Path(__file__).parents[2] / "data" / "workloads"
MIB = 1 << 20


def text(name: str) -> str:
    return (DATA / name).read_text()


def ran(output: str = "", **changes):
    took = {"output": output, "errors": "", "status": 0, "fault": "", "process_ns": 60_000_000_000}
    return {**took, **changes}


def of(experiment: str, **changes):
    return replace(planned(experiment).spec, number=1, **changes)


CPU, MEMORY, THREADS = of("sysbench_cpu"), of("sysbench_memory"), of("sysbench_threads")
FILEIO = of("sysbench_fileio")
WRITE, READ = of("fio_write"), of("fio_read")
DD = of("dd_write", size_octets=64 * MIB)
BONNIE = of("bonnie", size_octets=1 << 30)
WHOLE = of("bonnie", size_octets=64 * MIB, job="whole", problem=16, direct=False)
OLTP = of("mariadb", duration_s=2.0)
NBENCH = of("nbench")
HPL, STREAM = of("linpack", problem=1500), of("stream", problem=1500)
READERS = {
    "sysbench": (sysbench.read, CPU, ran(text("sysbench-1.0.20-cpu.txt"))),
    "sysbench memory": (sysbench.read, MEMORY, ran(text("sysbench-1.0.20-memory.txt"))),
    "sysbench threads": (sysbench.read, THREADS, ran(text("sysbench-1.0.20-threads.txt"))),
    "sysbench fileio": (sysbench.read, FILEIO, ran(text("sysbench-1.0.20-fileio.txt"))),
    "sysbench oltp": (sysbench.read, OLTP, ran(text("sysbench-1.0.20-oltp.txt"))),
    "fio": (fio.read, WRITE, ran(text("fio-3.33-write.json"))),
    "fio randread": (fio.read, READ, ran(text("fio-3.33-randread.json"))),
    "dd": (dd.read, DD, ran(errors=text("dd-9.1-write.txt"))),
    "bonnie": (bonnie.read, BONNIE, ran(text("bonnie-2.00a.txt"))),
    "bonnie whole": (bonnie.read, WHOLE, ran(text("bonnie-2.00a-whole.txt"))),
    "nbench": (nbench.read, NBENCH, ran(text("nbench-2.2.3.txt"))),
    "hpl": (lambda a, b: hpcc.read(a, text("hpcc-1.5.0.txt"), b), HPL, ran()),
    "stream": (lambda a, b: hpcc.read(a, text("hpcc-1.5.0.txt"), b), STREAM, ran()),
}


@pytest.mark.parametrize("name", READERS)
def test_what_a_program_wrote_is_a_valid_execution(name) -> None:
    read, spec, took = READERS[name]
    found = read(took, spec)
    assert found.faults == ()
    assert JOBS.assessed(spec, found).validity is Validity.VALID, found


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": 137, "errors": "Killed"}, "exit status 137: Killed"),
        ({"fault": "it did not end within 60 s"}, "did not end within"),
    ],
)
def test_a_program_that_was_killed_is_a_fault(name, changes, said) -> None:
    read, spec, took = READERS[name]
    found = read({**took, **changes}, spec)
    assert said in found.faults[0]
    assert (found.counts, found.told) == ({}, {})


def test_events_of_sysbench_are_counts_over_its_time() -> None:
    words = text("sysbench-1.0.20-cpu.txt")
    found = sysbench.read(ran(words), CPU)
    printed = float(re.search(r"events per second:\s+([\d.]+)", words)[1])
    assert found.figure("events") == pytest.approx(printed, rel=0.02)
    assert found.effective["version"] == "sysbench 1.0.20"
    words = text("sysbench-1.0.20-memory.txt")
    printed = float(re.search(r"\(([\d.]+) MiB/sec\)", words)[1]) * MIB
    assert sysbench.read(ran(words), MEMORY).figure("written") == pytest.approx(printed, rel=0.02)


def test_rates_of_a_file_by_sysbench_are_in_octets() -> None:
    words = text("sysbench-1.0.20-fileio.txt")
    found = sysbench.read(ran(words), FILEIO)
    printed = float(re.search(r"read, MiB/s:\s+([\d.]+)", words)[1]) * MIB
    assert found.figure("read") == pytest.approx(printed, rel=0.01)
    assert found.figure("operations") > 0


SETTINGS = ["10.11.19-MariaDB-0+deb12u1", "16384", "16777216", str(mariadb.POOL_OCTETS), "O_DIRECT", "1"]


def test_transactions_and_queries_are_counts() -> None:
    found = sysbench.read(ran(text("sysbench-1.0.20-oltp.txt")), OLTP)
    assert found.counts == {"transactions": 1039, "queries": 20780}
    assert found.figure("transactions") == pytest.approx(519.0, rel=0.01)
    lost = text("sysbench-1.0.20-oltp.txt").replace(
        "transactions:                        1039", "transactions: 1038"
    )
    with pytest.raises(DriverError, match="SYSB-02"):
        sysbench.read(ran(lost), OLTP)


def test_a_database_server_is_believed_in_the_settings_that_were_asked_for_alone() -> None:
    assert mariadb.effective(SETTINGS, OLTP)["redo_log_octets"] == OLTP.size_octets
    for number, other, said in (
        (0, "8.0.36", "MARI-01"),
        (1, "4096", "page octets"),
        (2, "100663296", "redo log octets"),
        (3, "134217728", "buffer pool octets"),
        (4, "fsync", "flush method"),
        (5, "2", "flushed commits"),
    ):
        with pytest.raises((DriverError, TestbedError), match=said):
            mariadb.effective([*SETTINGS[:number], other, *SETTINGS[number + 1 :]], OLTP)
    with pytest.raises(DriverError, match="MARI-02"):
        mariadb.effective(SETTINGS[1:], OLTP)
    assert mariadb.commits(["Com_commit", "1039"]) == 1039
    with pytest.raises(DriverError, match="MARI-02"):
        mariadb.commits(["Com_rollback", "1039"])


@pytest.mark.parametrize("counted", [1038, 1040])
def test_transactions_that_the_server_did_not_count_are_a_fault(counted, monkeypatch) -> None:
    driver = mariadb.MariaDb([])
    said = iter([SETTINGS, [], ["Com_commit", "7"], ["Com_commit", str(7 + counted)]])
    monkeypatch.setattr(driver, "_said", lambda statement: next(said))
    monkeypatch.setattr(driver, "_serving", lambda spec: nullcontext())
    monkeypatch.setattr(driver, "ran", lambda command, within_s: ran(text("sysbench-1.0.20-oltp.txt")))
    found = driver.run(OLTP)
    assert found.faults == (f"sysbench tells 1039 transactions, the server counted {counted} commits",)


def test_a_database_without_rows_or_of_odd_pages_is_refused() -> None:
    for changes in ({"problem": 0}, {"size_octets": 0}, {"block_octets": 8000}):
        with pytest.raises(ConfigError, match="LOAD-03"):
            mariadb.MariaDb([]).run(replace(OLTP, **changes))


def test_fio_tells_octets_and_milliseconds() -> None:
    job = json.loads(text("fio-3.33-write.json"))["jobs"][0]["write"]
    found = fio.read(ran(text("fio-3.33-write.json")), WRITE)
    assert found.counts == {"written": job["io_bytes"]}
    assert found.figure("written") == pytest.approx(job["bw_bytes"], rel=0.01)


def test_dd_tells_octets_and_seconds() -> None:
    found = dd.read(ran(errors=text("dd-9.1-write.txt")), DD)
    assert found.counts == {"written": 64 * MIB}
    assert found.elapsed_ns > 0


def test_bonnie_tells_kibibytes_a_second() -> None:
    fields = text("bonnie-2.00a.txt").split(",")
    found = bonnie.read(ran(text("bonnie-2.00a.txt")), BONNIE)
    assert found.told["written"] == int(fields[11]) * 1024
    assert found.told["rewritten"] < found.told["written"]


def test_bonnie_tells_characters_in_octets_and_what_it_counted_as_it_stands() -> None:
    """As version 2.00a printed it on a machine with much other work."""
    found = bonnie.read(ran(text("bonnie-2.00a-whole.txt")), WHOLE)
    assert found.told == {
        "characters_written": 60 * 1024,
        "characters_read": 64 * 1024,
        "seeks": 14857,
        "created": 1284,
        "deleted": 2583,
        "created_at_random": 166,
        "deleted_at_random": 2104,
    }
    assert "-n 16 -f20m" in " ".join(bonnie.command(WHOLE))
    assert set(found.told) == set(EXPERIMENTS["bonnie_whole"].figures)


def test_what_bonnie_took_too_short_a_time_for_is_no_figure() -> None:
    fields = text("bonnie-2.00a.txt").split(",")
    fields[17] = "+++++"
    found = bonnie.read(ran(",".join(fields)), BONNIE)
    assert "read" not in found.told
    assert JOBS.assessed(BONNIE, found).validity is Validity.INCOMPLETE


def test_hpl_did_the_operations_of_its_matrix() -> None:
    found = READERS["hpl"][0](ran(), HPL)
    done = found.told["operations"] * found.elapsed_ns / 1e9
    assert done == pytest.approx(2 * 1500**3 / 3 + 1.5 * 1500**2, rel=0.01)


CHANGED = [
    ("sysbench", "sysbench 1.0.20", "sysbench 1.1.0", TestbedError, "SYSB-01"),
    ("sysbench", "sysbench 1.0.20", "sysbank", TestbedError, "SYSB-01"),
    ("sysbench", "total number of events:", "all events:", DriverError, "SYSB-02"),
    ("sysbench", "Prime numbers limit: 10000", "Prime numbers limit: 20000", DriverError, "SYSB-02"),
    ("sysbench", "Number of threads: 1", "Number of threads: 2", DriverError, "SYSB-02"),
    ("sysbench memory", "MiB transferred", "MB transferred", DriverError, "SYSB-02"),
    ("sysbench memory", "block size: 1024KiB", "block size: 1KiB", DriverError, "SYSB-02"),
    ("sysbench fileio", "reads/s:", "reads/m:", DriverError, "SYSB-02"),
    ("fio", "fio-3.33", "fio-4.0", TestbedError, "FIO-01"),
    ("fio", '"io_bytes"', '"io_octets"', DriverError, "FIO-02"),
    ("fio", '"rw" : "write"', '"rw" : "read"', DriverError, "FIO-02"),
    ("bonnie", "1.98,2.00a", "1.97,1.98", TestbedError, "BONN-01"),
    ("bonnie", ",1G,", ",64M,", DriverError, "BONN-02"),
    ("bonnie whole", ",32768,", ",8192,", DriverError, "BONN-02"),
    ("bonnie whole", ",16,,,,,", ",128,,,,,", DriverError, "BONN-02"),
]


@pytest.mark.parametrize(("name", "was", "now", "error", "error_id"), CHANGED)
def test_a_changed_output_is_an_error_by_name(name, was, now, error, error_id) -> None:
    read, spec, took = READERS[name]
    assert was in took["output"]
    with pytest.raises(error, match=error_id):
        read({**took, "output": took["output"].replace(was, now)}, spec)


@pytest.mark.parametrize(
    ("was", "now", "error", "error_id"),
    [
        ("VersionMinor=5", "VersionMinor=6", TestbedError, "HPCC-01"),
        ("HPL_Tflops=", "HPL_Gflops=", DriverError, "HPCC-02"),
        ("HPL_N=1500", "HPL_N=1000", DriverError, "HPCC-02"),
        ("CommWorldProcs=1", "CommWorldProcs=2", DriverError, "HPCC-02"),
    ],
)
def test_a_changed_summary_of_hpcc_is_an_error_by_name(was, now, error, error_id) -> None:
    words = text("hpcc-1.5.0.txt")
    assert was in words
    with pytest.raises(error, match=error_id):
        hpcc.read(ran(), words.replace(was, now), HPL)


def test_a_test_that_hpcc_itself_calls_failed_is_a_fault() -> None:
    found = hpcc.read(ran(), text("hpcc-1.5.0.txt").replace("Success=1", "Success=0"), HPL)
    assert "a test of its own failed" in found.faults[0]


@pytest.mark.parametrize("name", READERS)
def test_an_output_that_was_cut_off_is_no_number(name) -> None:
    read, spec, took = READERS[name]
    key = "errors" if name == "dd" else "output"
    if name in ("hpl", "stream"):
        with pytest.raises(DriverError, match="HPCC-02"):
            hpcc.read(took, text("hpcc-1.5.0.txt")[:9000], spec)
        return
    for part in (0.0, 0.3, 0.6):
        cut = took[key][: int(len(took[key]) * part)]
        with pytest.raises((DriverError, TestbedError), match=r"-0[12]"):
            read({**took, key: cut}, spec)


def test_a_copy_of_another_size_is_no_number() -> None:
    with pytest.raises(DriverError, match="DD-02"):
        dd.read(ran(errors=text("dd-9.1-write.txt")), of("dd_write", size_octets=32 * MIB))


@pytest.mark.parametrize("made", [sysbench.Sysbench, fio.Fio, dd.Dd, hpcc.Hpcc, bonnie.Bonnie])
def test_a_job_that_a_program_does_not_do_is_refused(made) -> None:
    with pytest.raises(ConfigError, match="LOAD-03"):
        made([]).run(replace(CPU, job="nethack"))


def test_characters_round_the_page_cache_are_refused() -> None:
    with pytest.raises(ConfigError, match="LOAD-03") as caught:
        bonnie.Bonnie([]).run(replace(WHOLE, direct=True))
    assert "direct" in str(caught.value)


def test_a_part_of_a_second_is_refused() -> None:
    with pytest.raises(ConfigError, match="LOAD-03"):
        sysbench.Sysbench([]).run(replace(CPU, duration_s=0.5))


def test_the_settings_of_hpcc_hold_its_order_and_its_columns() -> None:
    rows = hpcc.settings(HPL).splitlines()
    assert (rows[5], rows[7]) == ("1500", str(HPL.block_octets))
    assert len(rows) == 36


def test_nbench_is_believed_in_its_indexes_for_linux_alone() -> None:
    """The text was written after the form that NBench 2.2.3 prints; its first part has the same names."""
    found = nbench.read(ran(text("nbench-2.2.3.txt")), NBENCH)
    assert found.told == {"memory_index": 19.745, "integer_index": 24.637, "floating_point_index": 39.418}
    assert found.effective["version"] == "BYTEmark 2"


def test_what_nbench_doubts_itself_is_told_beside_its_indexes() -> None:
    """As NBench 2.2.3 printed it on a busy machine, whose bit fields are beyond 10^9 a second."""
    found = nbench.read(ran(text("nbench-2.2.3-uncertain.txt")), NBENCH)
    assert found.told == {"memory_index": 73.269, "integer_index": 57.75, "floating_point_index": 159.157}
    assert found.effective["doubted"] == "STRING SORT, HUFFMAN"
    assert "doubted" not in nbench.read(ran(text("nbench-2.2.3.txt")), NBENCH).effective


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("MEMORY INDEX        : 19.745\n", ""),
        ("MEMORY INDEX        : 19.745", "MEMORY INDEX        : nan"),
        ("LINUX DATA BELOW", "LINUX DATA"),
        ("STRING SORT", "STRANG SORT"),
        ("24.637", "0.000"),
        ("24.637", "24,637"),
        ("* Trademarks are property of their respective holder.", ""),
        ("FLOATING-POINT INDEX: 39.418", "INTEGER INDEX       : 39.418"),
    ],
)
def test_an_output_of_nbench_that_is_not_whole_is_an_error_by_name(old, new) -> None:
    whole = text("nbench-2.2.3.txt")
    assert old in whole
    with pytest.raises(DriverError, match="NBEN-02"):
        nbench.read(ran(whole.replace(old, new)), NBENCH)
    with pytest.raises(TestbedError, match="NBEN-01"):
        nbench.read(ran(whole.replace("ver. 2 ", "ver. 3 ")), NBENCH)
