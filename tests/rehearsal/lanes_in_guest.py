"""In the guest: two lanes of the tester on two NICs that a cable joins; prints what each trial counted."""

import dataclasses
import json
import sys
import tempfile
from pathlib import Path

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.records import Direction, TrialSpec

SPEC = TrialSpec(frame_octets=128, load_fps=1000, duration_s=1.0, flows=64, direction=Direction.BOTH)


def main(addresses: list[str]) -> None:
    """Attach, send with flows that can be steered, with one flow, and with an odd number of them."""
    ports = tuple(
        TesterPort(
            name=f"p{side}",
            io="pci",
            device=address,
            ipv4=f"198.18.{side}.2/24",
            ipv6=f"2001:2:0:{side}::2/64",
        )
        for side, address in enumerate(addresses)
    )
    with tempfile.TemporaryDirectory() as folder:
        config = EmbeddedConfig(
            run_dir=Path(folder), cpus=(0, 1), pci=True, lab_ports=frozenset(addresses), drain_quiet_s=1.0
        )
        try:
            with EmbeddedTraffic(config) as tester:
                tester.attach((ports[0], ports[1]))
                print(json.dumps({"queues": [nic and len(nic.table) for nic in tester._queues]}), flush=True)
                for flows in (64, 1, 3):
                    result = tester.run(dataclasses.replace(SPEC, flows=flows))
                    streams = [
                        {
                            "sent": stream.sent_frames,
                            "received": stream.received_frames,
                            "duplicate": stream.duplicate_frames,
                            "corrupt": stream.corrupt_frames,
                        }
                        for stream in result.streams
                    ]
                    told = {
                        "flows": flows,
                        "fault": result.fault,
                        "streams": streams,
                        **dict(result.auxiliary),
                    }
                    print(json.dumps(told), flush=True)
        except ToolkitError as error:
            print(json.dumps({"refused": str(error)}), flush=True)
        for log in Path(folder).glob("*.log"):
            print(json.dumps({"log": log.read_text()[-2000:]}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
