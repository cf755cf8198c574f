"""Print what a run found and how many of its trials were valid: python3 read_run.py RUN."""

import sys
from collections import Counter

import bmwg

run = bmwg.open_run(sys.argv[1])
print(f"{run.run_id}: profile {run.profile} on {run.testbed}{', simulated' if run.simulated else ''}")

for answer in run.answers:
    if answer.metric.startswith(("conditional_throughput", "latency.all_frames.p99")):
        told = answer.type if answer.number is None else f"{answer.number:,.0f} {answer.unit}"
        between = (
            f" ({answer.low_fps:,} to {answer.high_fps:,})" if answer.low_fps and answer.high_fps else ""
        )
        print(f"{answer.path} {answer.network} {answer.frame_octets}: {answer.metric}: {told}{between}")

print(
    ", ".join(f"{count} trials {word}" for word, count in Counter(one.validity for one in run.trials).items())
)
print(next(f"{fact.name}: {fact.value}" for fact in run.facts if fact.name == "kernel/release"))
