"""What times and counts of an execution prove: what in it cannot be, and what did not come about. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bmwg.methodology.kinds.acts.records import (
    AGAIN,
    BEFORE_LOSS,
    CPUS,
    EXCHANGES,
    FILTERS,
    FITTING,
    FLUSH_FIRST,
    GUEST_BOOTS,
    GUEST_RESUMED,
    GUEST_STOPPED,
    HALF_LOAD,
    MEMORY,
    MOVES,
    OUTAGES,
    POD_RESIZES,
    POLICY,
    POST_COPY,
    POST_COPY_BEGAN,
    PRE_COPY,
    REPLICAS,
    RESIZES,
    SERVER_MOVES,
    SERVER_RESIZES,
    STOPPED,
    TABLE_FLUSHED,
    TABLE_LOADED,
    TABLE_LOADING,
    ActsResult,
    ActsSpec,
    Failure,
    Life,
)

BETWEEN_CLOCKS_NS = 5_000_000  # choice: of a wall clock that is slewed by 0.5 ms a second, for ten seconds
LOAD_RATIO = 0.8  # choice: of what is aimed at beside an act; with less offered it was at another load
RESOLUTION_RATIO = 0.1  # choice: what may lie between the frame before and the first that came, of the answer
_COUNTED = (  # of an exchange: what came, or was counted, is not more than was counted, or was offered
    ("before_came_frames", "before_rule_frames"),
    ("after_came_frames", "after_rule_frames"),
    ("came_frames", "counted_frames"),
    ("counted_frames", "sent_frames"),
)
_SPUN = ("spun_us", "spun_window_us", "period_us", "throttled_periods")  # by a program that wants all
_MORE_PERIODS = 3  # choice: the window begins and ends amid one, and a CPU may keep a slice of another
_OF_EXCHANGES = (
    "stale_frames",
    "wrong_rule_frames",
    *dict.fromkeys(name for two in _COUNTED for name in two),
)


def contradictions(spec: ActsSpec, result: ActsResult) -> tuple[str, ...]:
    """Say what in the times and counts of an execution cannot be."""
    found = []
    last_ns = others_ns = 0
    for number, life in enumerate(result.lives, start=1):
        if (number - 1) % spec.at_once == 0:  # it and those beside it come after all that were before
            others_ns = last_ns
        before_ns = others_ns
        for name, at_ns in life.ordered:
            if at_ns < before_ns:
                found.append(
                    f"{spec.noun} {number}: {name} at {at_ns} ns, what came before it at {before_ns} ns"
                )
            before_ns = max(before_ns, at_ns)
        last_ns = max(last_ns, before_ns)
        first_ns = life.first_frame_ns
        if first_ns is not None and not life.asked_ns <= (life.not_before_ns or life.asked_ns) <= first_ns:
            found.append(
                f"{spec.noun} {number}: the frame before the first was offered at {life.not_before_ns} ns"
            )
        if life.received_frames + life.bypassed_frames > life.offered_frames:
            came, offered = life.received_frames + life.bypassed_frames, life.offered_frames
            found.append(f"{spec.noun} {number}: {came} frames came, {offered} were offered")
        stopped = spec.workload in (POLICY, *RESIZES, *OUTAGES, *EXCHANGES)
        if spec.workload in (*RESIZES, *OUTAGES, *EXCHANGES):
            found += _impossible_outage(f"{spec.noun} {number}", life)
        if spec.workload in MOVES:
            found += _impossible_move(spec, f"{spec.noun} {number}", life)
        if spec.workload in EXCHANGES:
            found += _impossible_exchange(spec, f"{spec.noun} {number}", life)
        if spec.workload in RESIZES:
            found += _impossible_resize(spec, f"{spec.noun} {number}", life)
        found += _impossible_figures(spec, f"{spec.noun} {number}", life)
        if not stopped and (first_ns is None) != (life.received_frames == 0):
            found.append(
                f"{spec.noun} {number}: {life.received_frames} frames came, the first at {first_ns} ns"
            )
        late = [
            (name, at)
            for steps, from_ns in ((life.steps, life.asked_ns), (life.removal_steps, life.remove_asked_ns))
            for name, at in steps.items()
            if from_ns is None or not from_ns <= at <= result.wall_ns
        ]
        if late:
            found.append(f"{spec.noun} {number}: {late[0][0]} at {late[0][1]} ns is outside of its life")
        if stopped:  # both are of frames that came in the end, or that did not, or that another pod forwarded
            continue
        if first_ns is not None and life.last_frame_ns is not None and life.last_frame_ns < first_ns:
            found.append(
                f"{spec.noun} {number}: the last frame came at {life.last_frame_ns} ns, before the first"
            )
    if last_ns > result.wall_ns:
        found.append(f"what it tells lies at {last_ns} ns, it lasted {result.wall_ns} ns")
    return (*found, *_impossible_failures(spec, result))


def _impossible_failures(spec: ActsSpec, result: ActsResult) -> Iterator[str]:
    """Say what in the failed starts of an execution cannot be."""
    known = {failure.value for failure in Failure}
    for number, life in enumerate(result.lives, start=1):
        if life.failed and not spec.counts_failures:
            yield f"{spec.noun} {number}: counted as failed, where a failure ends the execution"
        if life.failed and life.failed not in known:
            yield f"{spec.noun} {number}: failed as {life.failed}, not as {' or '.join(sorted(known))}"
        if life.failed_by and not life.failed:
            yield f"{spec.noun} {number}: {life.failed_by} of a start that did not fail"


def _impossible_outage(which: str, life: Life) -> list[str]:
    """Say what in an outage cannot be: loss without its moments, moments in another order."""
    moments = [life.steps[name] for name in (BEFORE_LOSS, STOPPED, AGAIN) if name in life.steps]
    found = []
    if moments != sorted(moments) or len(moments) not in (0, 3):
        found.append(f"{which}: loss began and ended at {', '.join(map(str, moments))} ns")
    if moments and life.lost_frames <= 0:
        found.append(f"{which}: an outage in which {life.lost_frames} frames were lost")
    return found


def _impossible_move(spec: ActsSpec, which: str, life: Life) -> list[str]:
    """Say what of a move cannot be: frames of another guest or of one that stood, another mode's figures."""
    told, found = life.told, []
    if spec.mode == PRE_COPY and told.get("asked_pages", 0):
        found.append(f"{which}: by {spec.mode}, and its other place asked for {told['asked_pages']} pages")
    if spec.mode == PRE_COPY and POST_COPY_BEGAN in life.steps:
        found.append(f"{which}: by {PRE_COPY}, and QEMU went on by {POST_COPY}")
    if (boots := told.get(GUEST_BOOTS, 1)) != 1:
        found.append(f"{which}: its guest has booted {boots} times: what comes after a boot has not moved")
    return found + _stood_and_forwarded(which, life)


def _impossible_exchange(spec: ActsSpec, which: str, life: Life) -> list[str]:
    """Say what of an exchange cannot be: counts of what stands, frames let through by what was flushed."""
    told = life.told
    moments = [
        life.steps[name] for name in (TABLE_FLUSHED, TABLE_LOADING, TABLE_LOADED) if name in life.steps
    ]
    found = []
    if moments != sorted(moments) or (TABLE_FLUSHED in life.steps) != (spec.mode == FLUSH_FIRST):
        found.append(f"{which}: by {spec.mode}, with steps at {', '.join(map(str, moments))} ns")
    # a kernel's rules are gone when it says so; Open vSwitch confirms before its datapath follows
    if spec.workload == FILTERS and told.get("came_when_flushed_frames", 0):
        frames = told["came_when_flushed_frames"]
        found.append(f"{which}: the old configuration let {frames} frames through after it was flushed")
    if "stopped_frames" in told and told["stopped_frames"] + told["came_frames"] > told["counted_frames"]:
        stopped, came, counted = (told[f"{name}_frames"] for name in ("stopped", "came", "counted"))
        found.append(f"{which}: {stopped} frames stopped and {came} came, {counted} were counted")
    if told.get("wrong_rule_frames", 0):
        frames = told["wrong_rule_frames"]
        found.append(f"{which}: {frames} frames were counted by another configuration than stood")
    return found


def _impossible_resize(spec: ActsSpec, which: str, life: Life) -> list[str]:
    """Say what of a resize cannot be: a size that nobody asked for, more than it used, frames by nothing."""
    told, found = life.told, []
    asked, actual = (told.get(f"{name}_{spec.size_unit}") for name in ("asked", "actual"))
    if actual != asked:
        found.append(f"{which}: {actual} {spec.size_unit}, asked for {asked}")
    if (counted := told.get(f"guest_{spec.size_unit}", actual)) != actual:
        found.append(f"{which}: {actual} {spec.size_unit}, its guest counts {counted}")
    if life.first_frame_ns is not None and not told.get("forwarded_frames", 0):
        found.append(f"{which}: a frame came, and what was resized forwarded none with its new size")
    if told.get("used_octets", 0) > (actual or 0):
        found.append(f"{which}: {told['used_octets']} octets are used, of {actual}")
    if spec.workload == REPLICAS:
        found += _impossible_shares(which, told)
    if all(name in told for name in _SPUN):
        periods = told["spun_window_us"] // max(1, told["period_us"]) + _MORE_PERIODS
        if told["spun_us"] > periods * (actual or 0):
            found.append(f"{which}: a program had {told['spun_us']} us of {periods} periods of {actual} us")
    return found


def _impossible_shares(which: str, told: Mapping[str, int]) -> Iterator[str]:
    """Say what cannot be of the frames by replicas: more than they sent, or other frames than all."""
    shares = {one: told.get(f"replica_{one}_came_frames", 0) for one in _replicas(told)}
    for one, came in shares.items():
        sent = told.get(f"replica_{one}_sent_frames", 0)
        if came > sent:
            yield f"{which}: {came} frames came by replica {one}, which sent {sent}"
    whole = told.get("window_came_frames", 0)
    if sum(shares.values()) != whole:
        yield f"{which}: {whole} frames came, {sum(shares.values())} of them by the replicas"


def _replicas(told: Mapping[str, int]) -> range:
    return range(1, told.get("actual_replicas", 0) + 1)


def _impossible_figures(spec: ActsSpec, which: str, life: Life) -> list[str]:
    """Say which figures cannot stand together, or are of a load that was not asked for."""
    told = life.told
    found = [
        f"{which}: {less} is {told[less]}, {more} {told.get(more, 'not told')}"
        for less, more in (
            *_COUNTED,
            ("beside_received_frames", "beside_offered_frames"),
            ("qemu_downtime_ns", "qemu_total_ns"),
            ("libvirt_downtime_ns", "libvirt_total_ns"),
        )
        if told.get(less, 0) > told.get(more, 0)
    ]
    if 2 * told.get("beside_fps", 0) > told.get("carried_fps", 0):
        found.append(
            f"{which}: beside_fps is {told['beside_fps']}, more than half of {told.get('carried_fps', 0)}"
        )
    if (spec.beside == HALF_LOAD) != ("carried_fps" in told):
        found.append(
            f"{which}: {'a' if 'carried_fps' in told else 'no'} load beside, asked for {spec.beside!r}"
        )
    return found


def _stood_and_forwarded(which: str, life: Life) -> list[str]:
    """Say which frames were forwarded between the guest's stop and its new begin."""
    stopped, resumed = (life.steps.get(name) for name in (GUEST_STOPPED, GUEST_RESUMED))
    if stopped is None or resumed is None:
        return []
    if stopped > resumed:
        return [f"{which}: the guest ran at {resumed} ns at its other place, and stopped at {stopped} ns"]
    found = []
    before_ns, again_ns = life.steps.get(BEFORE_LOSS), life.first_frame_ns
    if before_ns is not None and before_ns > stopped + BETWEEN_CLOCKS_NS:
        found.append(
            f"{which}: a frame came that was offered at {before_ns} ns, its guest stood from {stopped} ns"
        )
    if again_ns is not None and again_ns + BETWEEN_CLOCKS_NS < resumed:
        found.append(f"{which}: a frame came again at {again_ns} ns, its guest ran from {resumed} ns")
    return found


def shortcomings(spec: ActsSpec, result: ActsResult) -> tuple[str, ...]:
    """Say what of an execution did not come about as asked; empty when all did."""
    found = []
    ended = spec.workload == FITTING and bool(result.lives) and bool(result.lives[-1].failed)
    if len(result.lives) != spec.cycles and not ended:
        found.append(f"{len(result.lives)} of {spec.cycles} {spec.nouns} were made")
    for number, life in enumerate(result.lives, start=1):
        if life.failed:
            continue
        if life.start_ns is None:
            what = "no frame was stopped" if spec.workload == POLICY else "no frame came out"
            found.append(f"{spec.noun} {number}: {what} within {spec.first_frame_s:g} s")
            continue
        if spec.workload in (*EXCHANGES, *RESIZES):
            found += _unclear_exchange(spec, f"{spec.noun} {number}", life)
        elif life.removal_ns is None:
            found.append(f"{spec.noun} {number} was not removed")
        if spec.workload in OUTAGES:
            found += _unclear_outage(f"{spec.noun} {number}", life)
        if spec.workload in MOVES:
            found += _unclear_move(spec, f"{spec.noun} {number}", life)
        found += _unclear_load(f"{spec.noun} {number}", life)
        if spec.counts_failures:
            continue  # whether it came to forward is the answer, and no time
        if life.not_before_ns is None:
            # the very first one came: something forwarded already, and the moment is not known
            found.append(f"{spec.noun} {number}: no frame was offered in vain before the first that came")
            continue
        apart_ns = (life.first_frame_ns or 0) - life.not_before_ns
        if apart_ns > life.start_ns * RESOLUTION_RATIO:
            found.append(
                f"{spec.noun} {number}: for {apart_ns / 1e6:.1f} ms before the first frame came "
                "none was offered"
            )
    return tuple(found)


def _unclear_exchange(spec: ActsSpec, which: str, life: Life) -> list[str]:
    """Say what of an exchange or a resize was not seen to its end, or is not told."""
    wanted = _OF_EXCHANGES if spec.workload in EXCHANGES else _of_resizes(spec)
    found = [f"{which}: {name} is not told" for name in wanted if name not in life.told]
    if spec.workload == REPLICAS:
        idle = [one for one in _replicas(life.told) if not life.told.get(f"replica_{one}_came_frames")]
        found += [f"{which}: no frame came by replica {one}" for one in idle]
    had, asked = (life.told.get(f"{name}_quota_us", 0) for name in ("had", "asked"))
    if asked < had and not life.told.get("throttled_periods", 1):
        found.append(f"{which}: its program never wanted more than its new limit")
    if life.outage_ns is None:
        found.append(f"{which}: {life.lost_frames} frames were lost, and it was not seen until when")
    return found


def _unclear_move(spec: ActsSpec, which: str, life: Life) -> list[str]:
    """Say what is not told of a move: when its guest stood, by what it went on, that it is the same guest."""
    found = []
    if not {GUEST_STOPPED, GUEST_RESUMED} <= set(life.steps):
        found.append(f"{which}: it is not told when the guest stopped and ran again")
    if spec.mode == POST_COPY and POST_COPY_BEGAN not in life.steps:
        found.append(f"{which}: QEMU does not tell that it went on by {POST_COPY}")
    if spec.workload == SERVER_MOVES and GUEST_BOOTS not in life.told:
        found.append(f"{which}: it is not told how often its guest has booted")
    return found


def _unclear_load(which: str, life: Life) -> list[str]:
    """Say that less was offered beside an act than what it is said to be beside."""
    told = life.told
    if "beside_fps" not in told:
        return []
    if not told.get("beside_window_ns"):
        return [f"{which}: beside_window_ns is not told"]
    offered_fps = told.get("beside_offered_frames", 0) * 1e9 / told["beside_window_ns"]
    if offered_fps >= LOAD_RATIO * told["beside_fps"]:
        return []
    return [f"{which}: {offered_fps:.0f} frames/s were offered beside it, {told['beside_fps']} were aimed at"]


def _of_resizes(spec: ActsSpec) -> tuple[str, ...]:
    sizes = (f"{name}_{spec.size_unit}" for name in ("had", "asked", "actual"))
    more = {(POD_RESIZES, CPUS): _SPUN, (POD_RESIZES, MEMORY): ("used_octets",)}
    more |= {(SERVER_RESIZES, mode): (f"guest_{spec.size_unit}",) for mode in (MEMORY, CPUS)}
    more |= {(REPLICAS, ""): ("window_came_frames",)}
    return (*sizes, "forwarded_frames", *more.get((spec.workload, spec.mode), ()))


def _unclear_outage(which: str, life: Life) -> list[str]:
    """Say what an outage was not seen to the end by, or why its begin is not known well enough."""
    outage_ns = life.outage_ns
    if outage_ns is None:
        return [f"{which}: {life.lost_frames} frames were lost, and it was not seen until when"]
    if outage_ns == 0:
        return []
    apart_ns = life.steps[STOPPED] - life.steps[BEFORE_LOSS]
    if apart_ns <= outage_ns * RESOLUTION_RATIO:
        return []
    return [f"{which}: for {apart_ns / 1e6:.1f} ms before the first lost frame none was offered"]
