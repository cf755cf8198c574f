"""Changes a signed bundle in many single ways, chosen by seeds, and tells which rules refused each.

    python tests/unit/verify/campaign.py BUNDLE KEY.pub [--seeds 1000] [--first 0]
    python tests/unit/verify/campaign.py --liar [--seeds 1000] [--first 0]

The second has the owner of the key as liar: the runs of `honest` are changed in the families of
`families`, hashed and signed anew, and the attacks of `doors` go around a bundle. Each prints one JSON
object: how many changes of each kind there were, which rules caught them, and the seeds of those that went
through (none is expected; the exit code is 1 otherwise).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[3]))

import doors
import doors_bounds
import families
import mutations
import released

from bmwg.reports.bundle.signing import TrustedKey, load_public, make_key
from bmwg.reports.verify.verify import verify_bundle


def campaign(bundle: Path, trusted: TrustedKey, other_key: Path, seeds: range) -> dict[str, Any]:
    """Verify one changed bundle a seed; return the table of what caught what."""
    original, parts = bundle.read_bytes(), mutations.parts_of(bundle)
    if mutations.packed(parts) != original:
        raise ValueError(f"{bundle}: not in the one form")
    unchanged = verify_bundle(bundle, trusted)
    kinds: Counter[str] = Counter()
    rules: dict[str, Counter[str]] = {}
    through: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        changed = Path(folder) / "changed.tar"
        for seed in seeds:
            name, data = mutations.mutate(original, parts, seed, other_key)
            if data == original:
                raise ValueError(f"seed {seed}: {name} changed nothing")
            changed.write_bytes(data)
            verified = verify_bundle(changed, trusted)
            kinds[name] += 1
            caught = rules.setdefault(name, Counter())
            caught.update({finding.rule_id for finding in verified.findings})
            if not verified.findings or verified.exit_code == 0:
                through.append({"seed": seed, "change": name})
    return {
        "octets": len(original),
        "trials": len(parts["trials.jsonl"].splitlines()),
        "unchanged": "verified" if verified_clean(unchanged) else "refused",
        "seeds": [seeds.start, seeds.stop],
        "changes": sum(kinds.values()),
        "refused": sum(kinds.values()) - len(through),
        "through": through,
        "by_change": {
            name: {"changes": count, "caught_by": dict(sorted(rules[name].items()))}
            for name, count in sorted(kinds.items())
        },
    }


def liars(seeds: range) -> dict[str, Any]:
    """Verify one signed lie a seed, families and doors in turn; return which rules refused each."""
    attacks = (*families.FAMILIES, *doors_bounds.DOORS)
    told: dict[str, Counter[str]] = {one.name: Counter() for one in attacks}
    times: Counter[str] = Counter()
    through = []
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_key(place / "key")
        trusted = load_public(place / "key.pub")
        stack.enter_context(released.listed(place))
        for seed in seeds:
            family = attacks[seed % len(attacks)]
            to = place / "lie"
            if isinstance(family, doors.Door):
                caught = doors.tried(family, seed // len(attacks), place=place, to=to, key=place / "key")
                shutil.rmtree(to)
                times[family.name] += 1
                told[family.name][family.answer] += caught
                if not caught:
                    through.append({"seed": seed, "family": family.name})
                continue
            bundle = families.told(family, seed, place=place / "honest", to=to, key=place / "key")
            verified = verify_bundle(bundle, trusted)
            shutil.rmtree(to)
            times[family.name] += 1
            told[family.name].update({one.rule_id for one in verified.findings} or {"named"})
            if not family.caught(verified):
                through.append({"seed": seed, "family": family.name})
    return {
        "seeds": [seeds.start, seeds.stop],
        "changes": sum(times.values()),
        "through": through,
        "by_family": {
            name: {"changes": times[name], "caught_by": dict(sorted(told[name].items()))} for name in told
        },
    }


def verified_clean(verified: Any) -> bool:
    """Whether a verification found nothing."""
    return verified.exit_code == 0 and not verified.findings


def main() -> int:
    """Run the seeds that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bundle", type=Path, nargs="?")
    parser.add_argument("key", type=Path, nargs="?")
    parser.add_argument("--liar", action="store_true", help="the owner of the key lies about honest runs")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1000)
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    if chosen.liar:
        found = liars(seeds)
        print(json.dumps(found, indent=1))
        return 1 if found["through"] else 0
    if chosen.bundle is None or chosen.key is None:
        parser.error("BUNDLE and KEY.pub, or --liar")
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        make_key(other)
        told = campaign(chosen.bundle, load_public(chosen.key), other, seeds)
    print(json.dumps(told, indent=1))
    return 1 if told["through"] or told["unchanged"] != "verified" else 0


if __name__ == "__main__":
    sys.exit(main())
