"""The learning rate of a real bridge whose learning port takes so many frames a second, and no more."""

import subprocess
from contextlib import ExitStack

import pytest
from tests.contract.deploying import bed_in, four_port_tester

from bmwg.drivers.paths import path_driver
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.benchmarks import address_table, learning_rate
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, OutcomeType
from bmwg.methodology.search.stepwise import run_steps
from bmwg.methodology.trial.judging import JudgedTrial, TrialPolicy, assess

pytestmark = [pytest.mark.root, pytest.mark.quiet, pytest.mark.slow]
CELL = Cell(
    path="switch",
    hosting=BAREMETAL,
    function="linux-bridge",
    network=NOTHING,
    frame_octets=64,
    axes=(("pattern", "address-table-4"),),
)
ADDRESSES = 300
AT_ONCE = 3  # frames that the limit lets through together
TRIES = 3  # searches; a paused machine drops frames below the limit as well
POLICY = TrialPolicy(max_stall_ns=5_000_000)


def limited(bed, rate):
    """Have the bridge's learning port drop what comes faster."""
    rules = f"""table netdev learning {{
        chain arriving {{
            type filter hook ingress device nic{address_table.LEARNER} priority 0;
            limit rate over {rate}/second burst {AT_ONCE} packets drop
        }}
    }}
    """
    in_dut(bed, rules)


def in_dut(bed, rules):
    command = ["nsenter", f"--net={bed.node('dut1').netns_path}", "nft", "-f", "-"]
    subprocess.run(command, input=rules, text=True, check=True, timeout=20)


def searched(bed, tester, goal):
    """Search the learning rate; in place of an ageing time the bridge is made anew before each turn."""
    standing, taken = ExitStack(), []

    def take(step):
        if step.phase == address_table.OWN and not step.attempt:
            tester.detach()
            standing.close()
            tester.attach(standing.enter_context(path_driver(CELL, bed).deploy()).ports)
        result = tester.run(step.spec)
        judged = assess(result, POLICY)
        taken.append(
            JudgedTrial(seq=len(taken) + 1, result=result, validity=judged.validity, reason=judged.reason)
        )
        return taken[-1]

    with standing:
        ended = run_steps(learning_rate.procedure(goal), take)
        tester.detach()
    return learning_rate.outcome(ended, goal, outcome_id="x")


@pytest.mark.parametrize(("rate", "width"), [(500, 0.05), (200, 0.02)])
def test_a_bridge_that_learns_at_a_rate_has_that_rate(tmp_path, rate, width):
    """Known truth: the rate lies between the two that the search tells, but for what passes at once.

    No pause of the machine has a bridge learn faster; one may have it learn slower, so that is tried again.
    """
    goal = learning_rate.LearningGoal(
        cell=CELL, least_fps=rate // 2, most_fps=2 * rate, addresses=ADDRESSES, width=width
    )
    beyond = rate * goal.addresses / (goal.addresses - AT_ONCE)  # at which no address is lost yet
    (tmp_path / "tester").mkdir()
    held = False
    with (
        bed_in(tmp_path, load_testbed("testbeds/switch.yaml")) as bed,
        four_port_tester(tmp_path / "tester") as tester,
    ):
        for _ in range(TRIES):
            limited(bed, rate)
            outcome = searched(bed, tester, goal)
            in_dut(bed, "delete table netdev learning")
            if outcome.type is not OutcomeType.MEASURED:
                continue
            learned, not_learned = (one.number for one in outcome.values)
            assert not_learned - learned <= max(1, width * not_learned)
            assert learned <= beyond
            held = not_learned >= rate
            if held:
                break
    if not held:
        pytest.skip("needs CPUs that are not taken away")
