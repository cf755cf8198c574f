"""Which errors of drivers say that a start failed, and what it did not come to.

Any other error is none of the start's: it ends the execution as a fault, and is counted as nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.acts.records import Failure

_KINDS: Mapping[str, Failure] = {
    "CLOUD-14": Failure.NOT_SCHEDULED,  # quota of the project
    "CLOUD-17": Failure.NOT_BOOTED,  # the server is in ERROR
    "CLOUD-22": Failure.NO_NETWORK,
    "CNI-04": Failure.NO_NETWORK,  # the plugin did not end
    "CNI-05": Failure.NO_NETWORK,
    "CNI-10": Failure.NO_NETWORK,  # the plugin refused
    "CNI-11": Failure.NO_NETWORK,
    "KUBE-23": Failure.NOT_SCHEDULED,  # quota of the namespace
    "KUBE-40": Failure.NOT_BOOTED,  # its container did not come to run
    "POD-03": Failure.NOT_BOOTED,
    "POD-05": Failure.NOT_BOOTED,
    "VM-04": Failure.NOT_BOOTED,
    "VM-05": Failure.NOT_BOOTED,
    "VM-06": Failure.NO_NETWORK,
    "VM-13": Failure.NOT_BOOTED,
}
_WORDS = (  # what the same error says of another kind, in the words of the cluster or cloud
    ("CLOUD-17", "No valid host", Failure.NOT_SCHEDULED),
    ("KUBE-40", "was not placed on a node", Failure.NOT_SCHEDULED),
    ("KUBE-40", "OutOfcpu", Failure.NOT_SCHEDULED),  # the kubelet had no room left after all
    ("KUBE-40", "OutOfmemory", Failure.NOT_SCHEDULED),
    ("KUBE-40", "FailedCreatePodSandBox", Failure.NO_NETWORK),
)


def failure_of(error: ToolkitError) -> Failure | None:
    """Return what a start lacked that ended in this error; None where the error is not the start's."""
    said = f"{error.what} {error.found} {error.hint}"
    for error_id, words, kind in _WORDS:
        if error_id == error.error_id and words in said:
            return kind
    return _KINDS.get(error.error_id)
