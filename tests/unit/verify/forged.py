"""Changes by which a forger makes a run better; each takes run.json and the trials."""

from __future__ import annotations

import json


def outcome(run, metric, path="node"):
    return next(o for o in run["outcomes"] if o["metric"] == metric and o["cell"]["path"] == path)


def higher_value(run, trials):
    found = outcome(run, "throughput.rfc2544_26_1")
    found["values"][0]["number"] += 1000


def higher_bound(run, trials):
    found = outcome(run, "throughput.rfc2544_26_1")
    found["bounds"]["lower"]["load_fps"] += 1
    found["values"][0]["number"] += 1


def lower_latency(run, trials):
    outcome(run, "latency.all_frames")["values"][0]["number"] -= 1


def lower_mean(run, trials):
    outcome(run, "latency.all_frames")["values"][5]["number"] *= 0.999


def other_type(run, trials):
    found = outcome(run, "throughput.rfc2544_26_1")
    found["type"], found["values"] = "at_ceiling", []


def no_remark(run, trials):
    for entry in run["outcomes"]:
        entry["quality"] = [text for text in entry["quality"] if "set aside" not in text]


def borrowed_trial(run, trials):
    found = outcome(run, "throughput.rfc2544_26_1")
    found["trials"][0] = outcome(run, "tester.envelope", "wire")["trials"][0]


def hidden_trial(run, trials):
    outcome(run, "throughput.rfc2544_26_1")["trials"].pop(0)


def dropped_outcome(run, trials):
    run["outcomes"].remove(outcome(run, "latency.all_frames"))


def doubled_outcome(run, trials):
    copy = json.loads(json.dumps(outcome(run, "throughput.rfc2544_26_1")))
    run["outcomes"].append(copy | {"id": copy["id"] + "x"})


def lost_frames_gone(run, trials):
    body = next(
        b
        for b in trials
        if b["metric"] == "throughput.rfc2544_26_1"
        and b["assessment"]["validity"] == "valid"
        and b["result"]["streams"][0]["received_frames"] < b["result"]["streams"][0]["sent_frames"]
    )
    stream = body["result"]["streams"][0]
    stream["latency"]["buckets"][2] += stream["sent_frames"] - stream["received_frames"]
    stream["latency"]["sum_ns"] += stream["latency"]["buckets"][0] * (
        stream["sent_frames"] - stream["received_frames"]
    )
    stream["received_frames"] = stream["sent_frames"]


def invalid_made_valid(run, trials):
    body = next(b for b in trials if b["assessment"]["validity"] == "tester_stalled")
    body["assessment"] = {"validity": "valid", "reason": ""}


def other_load(run, trials):
    body = next(b for b in trials if b["metric"] == "throughput.rfc2544_26_1")
    body["spec"]["load_fps"] -= 1


def foreign_trial(run, trials):
    copy = json.loads(json.dumps(trials[-1]))
    copy["cell"] = "pvp/pod/kernel-l3/none/64/forward"
    trials.append(copy | {"test": "CN-LAT-1.3"})


def wrong_test(run, trials):
    for body in trials:
        body["test"] = "CN-TPUT-1.9"


def foreign_deployment(run, trials):
    trials[0]["deployment"] = "elsewhere"


def not_simulated(run, trials):
    run["simulated"] = False


def another_procedure(run, trials):
    run["procedures"]["throughput.rfc2544_26_1"] += 1


def lower_qualification(run, trials):
    run["qualification_max_fps"] -= 1


def other_algorithm(run, trials):
    run["profile"]["search"]["relative_width"] = 0.1


def milder_policy(run, trials):
    run["profile"]["trial"]["max_stall_ns"] = 10_000_000_000


def plan_more(run, trials):
    copy = json.loads(json.dumps(run["plan"][0]))
    copy["cell"] |= {"frame_octets": 512, "cell_id": copy["cell"]["cell_id"].replace("/64/", "/512/")}
    run["plan"].append(copy)


def other_metric(run, trials):
    found = outcome(run, "latency.all_frames")
    found["metric"] = "latency.better"
    for body in trials:
        if body["cell"] == found["cell"]["cell_id"] and body["metric"] == "latency.all_frames":
            body["metric"] = "latency.better"


def cell_lies(run, trials):
    run["outcomes"][0]["cell"]["frame_octets"] = 128
