"""Which searches give a plain number to devices that have none, or none to devices that have one.

Models only, no traffic. Prints JSON: for each device and search the plain numbers of `--cases` searches, and
how many of them are not the truth. `--first-seed` takes other cases than those by which rules were chosen.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from bmwg.methodology.simulated_devices.algorithms import Algorithm, bisect, mlrsearch, verify_loss
from bmwg.methodology.simulated_devices.restless import DEVICES, tally

SEARCHES: dict[str, Algorithm] = {
    "bisection, 3 more trials": bisect(verification=3),
    "TST009, r = 2": verify_loss(trials=2),
    "MLRsearch, no loss": mlrsearch(),
    "MLRsearch, half may lose": mlrsearch(sum_s=120.0, exceed_ratio=0.5),
}


def main() -> None:
    """Compute and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=60)
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--devices", nargs="+", choices=DEVICES, default=list(DEVICES))
    given = options.parse_args()
    cases, first = given.cases, given.first_seed
    table = {
        device: {
            name: asdict(tally(DEVICES[device], search, cases=cases, first=first))
            for name, search in SEARCHES.items()
        }
        for device in given.devices
    }
    shown = {"benchmark": "restless_devices", "cases": cases, "first_seed": first, "table": table}
    print(json.dumps(shown, indent=1))


if __name__ == "__main__":
    main()
