"""Definitions of the metrics of bursts, outages and modifiers."""

from __future__ import annotations

from bmwg.reports.render.definition import Definition

_FPS = "frames/s per port and direction"
_RESET = "frames lost over the offered rate, while {} amid a constant load; average of the repetitions"
_MODIFIED = "the throughput of RFC 2544 section 26.1 while {}"

OUTAGES = {
    "back_to_back.rfc9004": Definition(
        unit="frames",
        clause="RFC 9004 section 6.3",
        meaning="average over searches of the longest burst at the highest rate of which no frame was lost",
    ),
    "buffer_time.rfc9004.implied": Definition(
        unit="s", clause="RFC 9004 section 6.4", meaning="average burst over the rate at which it was sent"
    ),
    "buffer_time.rfc9004.corrected": Definition(
        unit="s",
        clause="RFC 9004 section 6.4",
        meaning="implied buffer time less what the device forwarded meanwhile, by its throughput",
    ),
    "system_recovery.rfc2544_26_5": Definition(
        unit="ms",
        clause="RFC 2544 section 26.5",
        meaning="from the reduction of an overload until the last lost frame was due; average of trials",
    ),
    **{
        f"reset.rfc6201.{kind}": Definition(
            unit="ms", clause="RFC 6201 section 1.3", meaning=_RESET.format(what)
        )
        for kind, what in (
            ("link", "a link of the device is taken down and up"),
            ("vswitch", "the virtual switch is restarted"),
            ("container", "the container of the function is restarted"),
        )
    },
    **{
        f"throughput_modified.rfc2544_11.{code}": Definition(
            unit=_FPS, clause=f"RFC 2544 section {clause}", meaning=_MODIFIED.format(what)
        )
        for code, clause, what in (
            ("broadcast", "11.1", "one frame in a hundred is a broadcast"),
            ("management", "11.2", "each second begins with a management query"),
            ("route_updates", "11.3", "routing updates come in"),
            ("filters_1", "11.4", "one filter is configured"),
            ("filters_25", "11.4", "25 filters are configured"),
        )
    },
}
