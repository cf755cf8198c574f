"""A plan counts how often another deployment is set up, in its own order."""

from dataclasses import replace

import pytest

from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import load_profile


@pytest.fixture(scope="module")
def plan():
    networks = planning.Networks.of({"bridge": {"driver": "cni"}, "macvlan": {"driver": "cni"}})
    return [one for one in planning.cells(load_profile("quick"), networks) if not one.missing]


def test_each_change_counts_and_cells_of_one_deployment_count_once(plan):
    kinds = {one.deployment for one in plan}
    assert planning.deployments(plan) == len(kinds) > 3  # not interleaved: each deployment's cells together
    first, other = plan[0], next(one for one in plan if one.deployment != plan[0].deployment)
    assert planning.deployments([first, first]) == 1
    assert planning.deployments([first, other, first]) == 3
    assert planning.deployments([]) == 0


def test_what_cannot_be_tried_is_not_set_up(plan):
    other = next(one for one in plan if one.deployment != plan[0].deployment)
    lacking = replace(other, missing="no such network")
    assert planning.deployments([plan[0], lacking, plan[0]]) == 1
