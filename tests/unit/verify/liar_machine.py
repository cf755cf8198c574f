"""Lies about the machine, its records and its options, and about which cell a trial is of.

They are told as those of `liar_source`: whoever tells them has the toolkit's source, and answers follow.
"""

from __future__ import annotations

import json

import liar
import liar_source
import released
from liar import Files, Json, Lie

from bmwg.reports.verify.host_told import SOFTIRQ, STEAL

_LOAD = "host.dut.cpus"


def cpu_above_its_window(files: Files) -> None:
    """Say that CPUs did a hundred times what they had time for, or less than nothing."""
    times = files.chance.choice([-1, 100])
    for trial in files.trials:
        trial["host"][f"{_LOAD}.softirq_ns"] = times * trial["host"][f"{_LOAD}.window_ns"]


def window_cut(files: Files) -> None:
    """Say that CPU time was read over a part of the trial."""
    for trial in files.trials:
        trial["host"][f"{_LOAD}.window_ns"] //= 10


def part_above_the_whole(files: Files) -> None:
    """Say that all CPUs together handled less than those of the DUT."""
    for trial in files.trials:
        trial["host"][SOFTIRQ] = 0


def steal_forgotten(files: Files) -> None:
    """Say that nothing was stolen from the machine, and leave what its CPUs say."""
    for trial in files.trials:
        trial["host"][STEAL] = 0


def machine_untold(files: Files) -> None:
    """Leave out what the machine did beside the trials, of all or of the lossy ones."""
    every = files.chance.random() < 0.5
    for trial in files.trials:
        lost = any(one["received_frames"] < one["sent_frames"] for one in trial["result"]["streams"])
        if every or lost:
            trial["host"].clear()


def doctor_untold(files: Files) -> None:
    """Leave out that the doctor looked."""
    files.platform["doctor"] = []
    for trial in files.trials:
        trial["platform"]["doctor"] = 0


def losses_behind_the_pod(files: Files) -> None:
    """Call every frame received, by the tester's interfaces as well; the pod's stay as they were."""
    for trial in files.trials:
        counted = trial["result"]["auxiliary"]
        for stream in trial["result"]["streams"]:
            missing = stream["sent_frames"] - stream["received_frames"]
            stream["received_frames"] = stream["sent_frames"]
            for name in ("p0.rx_packets", "p1.rx_packets"):
                counted[name] = counted.get(name, 0) + missing


def watchdog_blind(files: Files) -> None:
    """Have the watchdogs see nothing, so that what stalled is valid."""
    for trial in files.trials:
        told = trial["result"]["disturbance"]
        if told is None:
            continue
        for one in told["watches"]:
            one |= {"absences": 0, "absent_ns": 0, "longest_ns": 0, "intervals": []}
        told["largest_stall_ns"] = [
            0 if place % 2 else cpu for place, cpu in enumerate(told["largest_stall_ns"])
        ]
        told["steal_ns"] = [30_000_000 if place % 2 else cpu for place, cpu in enumerate(told["steal_ns"])]
        trial["host"][STEAL] = sum(told["steal_ns"][1::2])


def another_kernel_before(files: Files) -> None:
    """Name another kernel, or more memory, in the first record."""
    fields = files.platform["base"]["before"]["fields"]
    if files.chance.random() < 0.5:
        fields["kernel"]["release"]["value"] = f"6.{files.chance.randrange(20)}.0-fast"
    else:
        fields["memory"]["total_octets"]["value"] += 2**30


def half_of_another_machine(files: Files) -> None:
    """Have a run go on, after its break, on a machine with another CPU."""
    files.platform["base"]["after"]["fields"]["cpu"]["model"]["value"] = "Fast CPU"


def option_redefined(files: Files) -> None:
    """Call an option what it was not, in the testbed and in what attachments were asked for."""
    option, wrong = files.chance.choice([("bridge", "macvlan"), ("ptp", "ipvlan"), ("bridge", "vlan")])
    for found in (files.run["testbed"]["networks"][option], *_attached(files, option)):
        found["conflist"]["plugins"][0]["type"] = wrong


def option_called_another(files: Files) -> None:
    """The same in the testbed alone."""
    files.run["testbed"]["networks"]["bridge"]["conflist"]["plugins"][0]["type"] = "ptp"


def _attached(files: Files, option: str) -> list[Json]:
    each = (one for told in files.platform["deployments"].values() for one in told.get("attachments", ()))
    return [one for one in each if one["network"] == option]


def neighbours_reason(files: Files) -> None:
    """Say of a cell that its kernel lacks what the cell beside it would have needed, and leave it out."""
    cell = next(
        one["cell"]["cell_id"] for one in files.run["outcomes"] if "/bridge/" in one["cell"]["cell_id"]
    )
    liar_source._without(files, [one for one in files.trials if one["cell"] == cell])
    for one in files.run["outcomes"]:
        if one["cell"]["cell_id"] == cell:
            one |= {"type": "not_assessed", "values": [], "trials": [], "statement": "", "quality": []}
            one |= {"bounds": {"lower": None, "upper": None}, "requirements": []}
            kind = files.chance.choice(["ipvlan", "vlan"])
            one["reason"] = f"interfaces of kind {kind} in the kernel: the kernel refused a scratch {kind}"
    liar.numbered(files)


def another_cells_trials(files: Files) -> None:
    """Have latencies of one cell stand for another's, a frame moved in each."""
    latency: dict[tuple[int, ...], list[Json]] = {}
    for trial in files.trials:
        frames = tuple(one["received_frames"] for one in trial["result"]["streams"])
        if min(frames) > 1000 and not trial["faults"]:
            latency.setdefault(frames, []).append(trial)
    pairs = [(same[0], one) for same in latency.values() for one in same[1:]]
    first, second = files.chance.choice(pairs)
    for mine, other in zip(first["result"]["streams"], second["result"]["streams"], strict=True):
        moved = json.loads(json.dumps(mine["latency"]))
        counts = moved["buckets"]
        fullest = max(range(2, len(counts), 3), key=lambda place: counts[place])
        to = fullest - 3 if fullest > 2 else fullest + 3
        counts[fullest] -= 1
        counts[to] += 1
        moved["sum_ns"] += counts[to - 2] - counts[fullest - 2]
        other["latency"] = moved


def largest_called_small(files: Files) -> None:
    """Say of each stream that its slowest frame was as fast as the fastest: no percentile is above it."""
    for trial in files.trials:
        for stream in trial["result"]["streams"]:
            if stream["latency"]["buckets"]:
                stream["latency"]["max_ns"] = stream["latency"]["buckets"][1]


def tags_divided(files: Files) -> None:
    """Divide the latencies of tagged frames by three, and leave those of all frames."""
    for trial in files.trials:
        for stream in trial["result"]["streams"]:
            tags = stream.get("tagged_ns", [])
            tags[:] = [None if one is None else one // 3 for one in tags]


def commit_cut_short(files: Files) -> None:
    """Name the release's commit by its first digits, so that no list has it."""
    files.run["toolkit"]["commit"] = files.run["toolkit"]["commit"][: files.chance.randrange(7, 40)]


def older_release(files: Files) -> None:
    """Name a release from before the profile."""
    files.run["toolkit"] |= {"version": released.OTHER.version, "commit": released.OTHER.commit}


def share_untold(files: Files) -> None:
    """Measure by a profile that does not say how many trials may be set aside."""
    del files.run["profile"]["trial"]["most_set_aside_ratio"]


def latencies_divided(files: Files) -> None:
    """Divide every latency by three: buckets, ends, sums and tagged frames alike."""
    for trial in files.trials:
        for stream in trial["result"]["streams"]:
            latency, made = stream["latency"], []
            flat = latency["buckets"]
            for place in range(0, len(flat), 3):
                high, count = flat[place + 1] // 3, flat[place + 2]
                low = max(flat[place] // 3, made[-1][1] + 1 if made else 0)
                if low > high:
                    made[-1][2] += count
                else:
                    made.append([low, high, count])
            if not made:
                continue
            least, most = (sum(one[end] * one[2] for one in made) for end in (0, 1))
            latency["buckets"] = [number for one in made for number in one]
            latency["sum_ns"] = max(least, min(most, latency["sum_ns"] // 3))
            latency |= {name: latency[name] // 3 for name in ("min_ns", "max_ns")}
            tags = stream.get("tagged_ns", [])
            tags[:] = [None if one is None else one // 3 for one in tags]


def _faster(stream: Json, frames: int) -> None:
    """Count so many frames more among the fastest."""
    latency = stream["latency"]
    latency["buckets"][2] += frames
    latency["sum_ns"] += frames * latency["buckets"][0]


def losses_called_fast(files: Files) -> None:
    """Call every lost frame of latency trials received, and as fast as the fastest."""
    for trial in files.trials:
        for stream in trial["result"]["streams"] if trial["metric"].startswith("latency.") else ():
            _faster(stream, stream["sent_frames"] - stream["received_frames"])
            stream["received_frames"] = stream["sent_frames"]


def slowest_called_fast(files: Files) -> None:
    """Count the slowest twentieth of all frames among the fastest, where no tagged frame tells."""
    for trial in files.trials:
        for stream in (one for one in trial["result"]["streams"] if not one.get("tagged_ns")):
            latency, left = stream["latency"], stream["received_frames"] // 20
            while left and len(latency["buckets"]) > 3:
                low, high, count = latency["buckets"][-3:]
                moved = min(left, count)
                left -= moved
                latency["sum_ns"] -= moved * (low + high) // 2
                latency["buckets"][-1] -= moved
                _faster(stream, moved)
                if moved == count:
                    del latency["buckets"][-3:]
                    latency["max_ns"] = latency["buckets"][-2]
            _within(latency)


def _within(latency: Json) -> None:
    """Keep a sum between what the buckets allow, so that a histogram does not contradict itself."""
    flat = latency["buckets"]
    least, most = (
        sum(flat[place + end] * flat[place + 2] for place in range(0, len(flat), 3)) for end in (0, 1)
    )
    latency["sum_ns"] = max(least, min(most, latency["sum_ns"]))


def cpu_time_divided(files: Files) -> None:
    """Divide all CPU time by ten, that of the whole machine as well."""
    for trial in files.trials:
        for name in trial["host"]:
            if name.endswith(("softirq_ns", "cpu_ns")):
                trial["host"][name] //= 10


def steal_nowhere(files: Files) -> None:
    """Say of the machine and of each CPU that nothing was stolen."""
    for trial in files.trials:
        trial["host"][STEAL] = 0
        told = trial["result"]["disturbance"]
        if told:
            told["steal_ns"] = [0 if place % 2 else cpu for place, cpu in enumerate(told["steal_ns"])]


REFUSED: dict[Lie, tuple[str, str]] = {  # base, rule
    cpu_above_its_window: ("packets", "VER-71"),
    window_cut: ("packets", "VER-71"),
    part_above_the_whole: ("packets", "VER-71"),
    steal_forgotten: ("packets", "VER-71"),
    machine_untold: ("packets", "VER-70"),
    doctor_untold: ("packets", "VER-70"),
    losses_behind_the_pod: ("packets", "VER-71"),
    another_kernel_before: ("packets", "VER-72"),
    half_of_another_machine: ("resumed", "VER-72"),
    option_redefined: ("turns", "VER-73"),
    option_called_another: ("turns", "VER-73"),
    neighbours_reason: ("turns", "VER-74"),
    another_cells_trials: ("packets", "VER-56"),
    share_untold: ("packets", "VER-39"),
    largest_called_small: ("packets", "VER-03"),
    tags_divided: ("packets", "VER-76"),
    losses_called_fast: ("packets", "VER-34"),
}
NAMED: dict[Lie, tuple[str, str]] = {
    watchdog_blind: ("packets", "question: watchdogs: "),
    commit_cut_short: ("packets", "unreleased toolkit: "),
    older_release: ("packets", "unknown profile: "),
    latencies_divided: ("packets", "nor: latencies"),
    slowest_called_fast: ("packets", "nor: latencies"),
    cpu_time_divided: ("packets", "nor: latencies"),
    steal_nowhere: ("packets", "nor: latencies"),
}
