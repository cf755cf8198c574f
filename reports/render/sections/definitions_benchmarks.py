"""Definitions of the metrics of benchmarks that have a module of their own."""

from __future__ import annotations

from bmwg.reports.render.sections.definition import Definition

_FPS = "frames/s per port and direction"
_TAGGED = "time of arrival of a tagged frame less the time just before it was handed to the tester's port"

BENCHMARKS = {
    "throughput.tst009_12_3": Definition(
        _FPS,
        "ETSI GS NFV-TST 009 12.3.2 and 12.3.3",
        "the highest load of the steps at which one of the allowed trials lost no frame",
    ),
    "conditional_throughput.rfc9971": Definition(
        _FPS,
        "RFC 9971 sections 4.8.3 and 4.8.4, appendix B",
        "what the SUT forwards at the relevant lower bound of the search goal that the code names",
    ),
    "relevant_lower_bound.rfc9971": Definition(
        _FPS, "RFC 9971 section 4.8.2", "the largest lower bound below every upper bound"
    ),
    "relevant_upper_bound.rfc9971": Definition(
        _FPS, "RFC 9971 section 4.8.1", "the smallest load classified as an upper bound"
    ),
    "sustained_load.rfc9971": Definition(
        _FPS,
        "none: our own, docs/adr/0461",
        "the part of the relevant lower bound that no buffer carried, at least, by one longer trial;"
        " of the load below that bound that held to the end, where the bound itself did not",
    ),
    "upper_end.rfc9971": Definition(
        _FPS,
        "none: our own, docs/adr/0460",
        "the lowest load tried above the relevant upper bound at which clearly more trials lose than"
        " the goal allows, where part of those at the bound itself held",
    ),
    "latency.rfc2544_26_2": Definition(
        "ns",
        "RFC 2544 section 26.2",
        f"mean over streams of: {_TAGGED}; one a stream, after 60 s or half of a shorter one",
    ),
    "latency.rfc8219_7_2.typical": Definition(
        "ns", "RFC 8219 section 7.2", f"median over streams of the median of: {_TAGGED}"
    ),
    "latency.rfc8219_7_2.worst_case": Definition(
        "ns", "RFC 8219 section 7.2", f"median over streams of the 99.9th percentile of: {_TAGGED}"
    ),
    "pdv.rfc8219_7_3_1": Definition(
        "ns",
        "RFC 8219 section 7.3.1, RFC 5481 section 4.2",
        "median over streams of the 99.9th percentile delay less the least one, all received frames",
    ),
    "ipdv.rfc5481_4_1.sample": Definition(
        "ns",
        "RFC 5481 section 4.1, RFC 3393",
        "median over streams of the median difference of delay between neighbours in the order sent,"
        " of the last 1,024 frames of each; .min and .max: medians of the least and the largest difference",
    ),
    "frame_loss_ratio.rfc2544_26_3": Definition(
        "1",
        "RFC 2544 section 26.3",
        "share of the frames sent at the load that the name ends with which never came",
    ),
    "back_to_back.rfc9004": Definition(
        "frames",
        "RFC 9004 sections 6.3 and 6.4",
        "average over searches of the longest burst at the maximum rate that lost no frame",
    ),
    "buffer_time.rfc9004.implied": Definition(
        "s", "RFC 9004 section 6.4", "average burst over the maximum rate"
    ),
    "buffer_time.rfc9004.corrected": Definition(
        "s", "RFC 9004 section 6.4", "implied buffer time less what was forwarded at the throughput meanwhile"
    ),
    "burst_interval.rfc2544_21": Definition(
        "ns",
        "RFC 2544 section 21",
        "least time from the end of a burst, the gap behind its last frame included, to the first"
        " frame of the next at which none was lost, for bursts at the maximum rate of as many frames as"
        " the name ends with",
    ),
    "burst_interval.rfc2544_21.lossy": Definition(
        "ns", "RFC 2544 section 21", "longest interval tried at which frames were lost"
    ),
    "burst_interval.rfc2544_21.mean_load": Definition(
        _FPS, "RFC 2544 section 21", "mean load over bursts and intervals at the least interval without loss"
    ),
    "system_recovery.rfc2544_26_5": Definition(
        "ms",
        "RFC 2544 section 26.5",
        "time from the reduction of an overload to the last lost frame, average of the repetitions",
    ),
    "reset.rfc6201": Definition(
        "ms",
        "RFC 6201 section 1.3, RFC 2544 section 26.6",
        "lost frames over offered rate while what the name ends with was reset, on average",
    ),
    "throughput_modified.rfc2544_11": Definition(
        _FPS,
        "RFC 2544 sections 11 and 26.1",
        "throughput while the modifier that the name ends with is active",
    ),
    "soak.loss_ratio": Definition(
        "1",
        "ETSI GS NFV-TST 009 clauses 11 and 12.4",
        "share of the frames of all valid intervals which never came",
    ),
    "soak.worst_loss_ratio": Definition(
        "1", "ETSI GS NFV-TST 009 clause 11", "largest loss ratio of one interval"
    ),
    "soak.lossy_intervals": Definition(
        "intervals", "ETSI GS NFV-TST 009 clause 11", "valid intervals that lost frames"
    ),
    "soak.longest_lossy_run": Definition(
        "intervals", "ETSI GS NFV-TST 009 clause 11", "most lossy intervals in a row"
    ),
    "soak.valid_intervals": Definition(
        "intervals", "no clause", "intervals whose procedure held; none is repeated"
    ),
    "soak.latency_drift": Definition(
        "ns", "no clause", "change of the mean latency of an interval over the series, by least squares"
    ),
}
