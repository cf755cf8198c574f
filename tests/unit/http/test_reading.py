"""What ab and JMeter print is read whole, or refused; what they print wrongly is left out."""

from __future__ import annotations

import pytest
from tests.unit.http import made

from bmwg.drivers.workload import ab, jmeter, jmeter_plan
from bmwg.methodology.errors import ConfigError, DriverError
from bmwg.methodology.kinds.requests import judge

REPORT = """\
Document Length:        1000 bytes

Concurrency Level:      10
Time taken for tests:   0.123 seconds
Complete requests:      100
Failed requests:        2
   (Connect: 0, Receive: 0, Length: 2, Exceptions: 0)
Non-2xx responses:      1
Total transferred:      130000 bytes
HTML transferred:       100000 bytes
Requests per second:    813.01 [#/sec] (mean)
Time per request:       12.345 [ms] (mean)
Time per request:       1.234 [ms] (mean, across all concurrent requests)
"""


def test_report_of_ab() -> None:
    found = ab.read_output(REPORT, 1000)
    assert (found["requests"], found["failed"], found["non_2xx"]) == (100, 1, 1)
    assert found["body_octets"] == 100_000
    assert found["elapsed_ns"] == 123_450_000  # of the mean, which has more digits than the time taken


@pytest.mark.parametrize(
    ("first_octets", "failed", "non_2xx", "body_octets", "told"),
    [
        (1000, 10, 10, 20_070, (0, 10)),  # every third answer is status 503 with 7 octets
        (7, 20, 10, 20_070, (0, 10)),  # and the first one among them: ab takes the right ones for wrong
        (1000, 10, 0, 24_000, (10, 0)),  # every third body of status 200 is cut off
    ],
)
def test_a_request_that_failed_is_in_one_count_of_what_ab_told(
    first_octets: int, failed: int, non_2xx: int, body_octets: int, told: tuple[int, int]
) -> None:
    """The numbers of ab 2.3 against servers of which 10 of 30 answers are wrong."""
    text = REPORT.replace("Length:        1000", f"Length:        {first_octets}")
    text = text.replace("requests:      100", "requests:      30").replace(
        "requests:        2", f"requests: {failed}"
    )
    text = text.replace("Length: 2,", f"Length: {failed},").replace(
        "responses:      1", f"responses: {non_2xx}"
    )
    found = ab.read_output(text.replace(" 100000 bytes", f" {body_octets} bytes"), 1000)
    assert (found["failed"], found["non_2xx"]) == told
    counts = {name: found[name] for name in ("requests", "failed", "non_2xx", "body_octets")}
    of = made.spec(asked_requests=30)
    assert judge.failed(made.tried(of, [made.result(of, 5, **counts)])) == (10, 30)


@pytest.mark.parametrize(
    "line", ["Complete requests", "Failed requests", "HTML transferred", "Time taken", "Document"]
)
def test_a_report_without_a_line_is_refused(line: str) -> None:
    text = "\n".join(row for row in REPORT.splitlines() if not row.startswith(line))
    with pytest.raises(DriverError, match=r"^AB-02 "):
        ab.read_output(text, 1000)


def test_shares_beyond_the_last_request_are_left_out() -> None:
    table = "Percentage served,Time in ms\n" + "".join(
        f"{share},{'7311156825131.5' if share == 99 else share / 10}\n" for share in range(101)
    )
    few = ab.read_shares(table, 50)
    assert "p99" not in few
    assert few["p95"] == 9_500_000
    assert ab.read_shares(table, 1000)["p90"] == 9_000_000


def test_first_octet_is_connection_and_waiting() -> None:
    rows = "starttime\tseconds\tctime\tdtime\tttime\twait\n" + "".join(
        f"Mon\t1\t{number}\t5\t9\t2\n" for number in range(1, 101)
    )
    assert ab.read_first_octets(rows)["p50"] == 52_000_000
    assert ab.read_first_octets(rows)["max"] == 102_000_000


SAMPLES = """\
timeStamp,elapsed,label,responseCode,success,Latency
1000,10,get,200,true,4
1005,30,get,200,false,5
1010,20,get,503,false,6
1010,10,get,Non HTTP response code: java.net.SocketTimeoutException,false,0
"""


def test_samples_of_jmeter() -> None:
    found = jmeter.read_results(SAMPLES, 1000)
    assert (found["requests"], found["failed"], found["non_2xx"]) == (4, 2, 1)  # each in one count
    assert found["body_octets"] == 1000  # of the one whose MD5 was right
    assert found["elapsed_ns"] == 35_000_000
    assert found["mean_request_ns"] == 17_500_000
    assert found["ttfb_ns"]["p50"] == 4_000_000


def test_warm_up_samples_are_counted_apart_and_measure_nothing() -> None:
    rows = "900,500,warm_up,200,true,400\n950,40,warm_up,503,false,40\n"
    head, _, body = SAMPLES.partition("\n")
    found = jmeter.read_results(f"{head}\n{rows}{body}", 1000)
    assert (found["warm_up_requests"], found["warm_up_ns"]) == (2, 500_000_000)
    plain = jmeter.read_results(SAMPLES, 1000)
    assert {key: found[key] for key in found if not key.startswith("warm_up")} == {
        key: plain[key] for key in plain if not key.startswith("warm_up")
    }


def test_samples_without_a_column_are_refused() -> None:
    with pytest.raises(DriverError, match=r"^JM-03 "):
        jmeter.read_results("timeStamp,elapsed\n1,2\n", 1)


def test_clients_are_shared_equally_or_refused() -> None:
    text = jmeter_plan.plan(
        proxies=[("198.18.1.1", 3128), ("198.18.1.1", 3129)],
        url="http://198.18.2.2:8080/1.bin",
        md5="0" * 32,
        requests=40,
        clients=4,
    )
    assert text.count("<ThreadGroup ") == 2
    assert text.count('num_threads">2<') == 2
    assert text.count('loops">10<') == 2
    assert "SetupThreadGroup" not in text
    for clients, requests in ((3, 30), (4, 41)):
        with pytest.raises(ConfigError, match=r"^JM-02 "):
            jmeter_plan.plan(
                proxies=[("a", 1), ("b", 2)], url="http://c/d", md5="", requests=requests, clients=clients
            )
