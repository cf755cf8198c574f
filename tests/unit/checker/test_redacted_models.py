"""Rules on networking models say of a public copy what they say of the run: redaction hides no evidence."""

from __future__ import annotations

import cases_models
import pytest

from bmwg.methodology.record.redaction import redact_platform
from bmwg.reports.checker.clauses import models
from bmwg.reports.checker.table import rules_of


@pytest.mark.parametrize(
    "told",
    [
        cases_models.SWITCH,
        cases_models.SOCKET_SWITCH,
        cases_models.PROGRAMS,
        cases_models.SOCKETS,
        cases_models.FUNCTIONS,
    ],
)
def test_a_redacted_deployment_shows_what_the_rules_ask_for(told, monkeypatch):
    platform = {"base": {"before": None, "after": None}, "deployments": {"d-1": told}}
    public = redact_platform(platform, bytes(16))["deployments"]["d-1"]
    asked = []

    def each(scope, model, what, check, **driven):
        if models.is_driven(told["network"], {"networking_model": model, **driven}):
            asked.append(what)
            assert check(told), what
            assert check(public), what

    monkeypatch.setattr(models, "_each", each)
    for one in rules_of(models):
        one.check(None)
    assert asked
    assert all(public["network"][key] == told["network"][key] for key in ("driver", "networking_model"))
