"""Single changes to a bundle, chosen by a seed: octets, counts, trials, figures, fields, other signers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bmwg.reports.bundle.archive import LIMITS, Archive, _header
from bmwg.reports.bundle.manifest import digest
from bmwg.reports.bundle.signing import load_private, sign
from bmwg.reports.store.canonical import canonical

Parts = dict[str, bytes]


def parts_of(path: Path) -> Parts:
    """Return the parts of a bundle."""
    with Archive(path) as archive:
        return {name: archive.octets(name) for name in archive.parts}


def packed(parts: Parts) -> bytes:
    """Return an archive in the one form."""
    made = b""
    for name in LIMITS:
        if name in parts:
            data = parts[name]
            made += _header(name, len(data)) + data + bytes(-len(data) % 512)
    return made + bytes(1024)


def rehashed(parts: Parts) -> Parts:
    """Return the parts with a manifest that has their hashes; the envelope stays the old one."""
    manifest = json.loads(parts["manifest.json"])
    for entry in manifest["parts"]:
        data = parts[entry["name"]]
        entry |= {"octets": len(data), "sha256": digest([data])}
    return parts | {"manifest.json": canonical(manifest).encode("ascii")}


def signed_by(parts: Parts, key: Path) -> Parts:
    """Return the parts with an envelope of another key."""
    run_id = json.loads(parts["manifest.json"])["run_id"]
    envelope = sign({"manifest.json": digest([parts["manifest.json"]])}, run_id, load_private(key))
    return parts | {"envelope.json": envelope}


def octet(data: bytes, seed: random.Random) -> bytes:
    """Change one octet anywhere in the archive."""
    place = seed.randrange(len(data))
    return data[:place] + bytes([data[place] ^ seed.randrange(1, 256)]) + data[place + 1 :]


def octet_gone(data: bytes, seed: random.Random) -> bytes:
    """Take one octet out."""
    place = seed.randrange(len(data))
    return data[:place] + data[place + 1 :]


def count(parts: Parts, seed: random.Random) -> Parts:
    """Change one count of one trial."""
    lines = parts["trials.jsonl"].splitlines()
    index = seed.randrange(len(lines))
    body = json.loads(lines[index])
    stream = seed.choice(body["result"]["streams"])
    name = seed.choice([key for key, value in stream.items() if isinstance(value, int)])
    stream[name] += seed.choice((-1, 1, 1000))
    lines[index] = canonical(body).encode("ascii")
    return parts | {"trials.jsonl": b"\n".join(lines) + b"\n"}


def dropped(parts: Parts, seed: random.Random) -> Parts:
    """Take one trial out."""
    lines = parts["trials.jsonl"].splitlines()
    del lines[seed.randrange(len(lines))]
    return parts | {"trials.jsonl": b"\n".join(lines) + b"\n"}


def doubled(parts: Parts, seed: random.Random) -> Parts:
    """Put one trial in twice."""
    lines = parts["trials.jsonl"].splitlines()
    index = seed.randrange(len(lines))
    lines.insert(index, lines[index])
    return parts | {"trials.jsonl": b"\n".join(lines) + b"\n"}


def reordered(parts: Parts, seed: random.Random) -> Parts:
    """Swap two trials."""
    lines = parts["trials.jsonl"].splitlines()
    one, other = seed.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other], lines[one]
    return parts | {"trials.jsonl": b"\n".join(lines) + b"\n"}


def figure(parts: Parts, seed: random.Random) -> Parts:
    """Edit one figure of one outcome."""
    run = json.loads(parts["run.json"])
    outcome = seed.choice([entry for entry in run["outcomes"] if entry["values"]])
    value = seed.choice(outcome["values"])
    value["number"] = value["number"] * 2 if seed.random() < 0.5 else value["number"] + 1
    return parts | {"run.json": (json.dumps(run, indent=1) + "\n").encode("ascii")}


def leaf(tree: Any, seed: random.Random) -> None:
    """Change one value somewhere in a tree."""
    while True:
        key = seed.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
        below = tree[key]
        if isinstance(below, (dict, list)) and below:
            tree = below
            continue
        tree[key] = "another" if below != "another" else "one"
        return


def platform(parts: Parts, seed: random.Random) -> Parts:
    """Change one field of the platform's records."""
    data = json.loads(parts["platform.json"])
    leaf(data["base"], seed)
    return parts | {"platform.json": (json.dumps(data, indent=1) + "\n").encode("ascii")}


def header(parts: Parts, seed: random.Random) -> Parts:
    """Change one field of the run's header."""
    run = json.loads(parts["run.json"])
    leaf({key: run[key] for key in ("testbed", "profile", "toolkit", "medium")}, seed)
    return parts | {"run.json": (json.dumps(run, indent=1) + "\n").encode("ascii")}


def verdict(parts: Parts, seed: random.Random) -> Parts:
    """Change one verdict, grade, state or declaration in the manifest."""
    manifest = json.loads(parts["manifest.json"])
    leaf(manifest[seed.choice(("verdicts", "grades", "state", "deviations"))], seed)
    return parts | {"manifest.json": canonical(manifest).encode("ascii")}


def part_gone(parts: Parts, seed: random.Random) -> Parts:
    """Take one part out."""
    gone = seed.choice(list(parts))
    return {name: data for name, data in parts.items() if name != gone}


def subset(parts: Parts, seed: random.Random) -> Parts:
    """Keep only some of the outcomes and the beginning of the journal."""
    run = json.loads(parts["run.json"])
    lines = parts["trials.jsonl"].splitlines()
    keep = seed.randrange(1, len(lines))
    run["outcomes"] = [entry for entry in run["outcomes"] if max(entry["trials"], default=0) <= keep]
    run["journal"] = {"trials": keep, "hash": json.loads(lines[keep - 1])["hash"]}
    return parts | {
        "run.json": (json.dumps(run, indent=1) + "\n").encode("ascii"),
        "trials.jsonl": b"\n".join(lines[:keep]) + b"\n",
    }


ON_OCTETS: tuple[Callable[[bytes, random.Random], bytes], ...] = (octet, octet_gone)
ON_PARTS: tuple[Callable[[Parts, random.Random], Parts], ...] = (
    count,
    dropped,
    doubled,
    reordered,
    figure,
    platform,
    header,
    verdict,
    part_gone,
    subset,
)


def mutate(original: bytes, parts: Parts, seed: int, other_key: Path) -> tuple[str, bytes]:
    """Return what was done and the changed archive.

    A change of the parts is left as it is, or hidden by a new manifest, or signed anew with another key.
    """
    chance = random.Random(seed)
    changes = (*ON_OCTETS, *ON_OCTETS, *ON_PARTS)
    change = changes[seed % len(changes)]
    if change in ON_OCTETS:
        return change.__name__, change(original, chance)  # type: ignore[arg-type]
    changed = change(dict(parts), chance)  # type: ignore[arg-type]
    hiding = chance.choice(("plain", "rehashed", "resigned")) if change is not subset else "resigned"
    if hiding != "plain" and set(changed) == set(parts):
        changed = rehashed(changed)
        if hiding == "resigned":
            changed = signed_by(changed, other_key)
    return f"{change.__name__} {hiding}", packed(changed)
