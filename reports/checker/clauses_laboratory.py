"""What only the submitter can say of device and laboratory, for documents that repeat RFC 6815's words."""

from __future__ import annotations

from bmwg.reports.checker.clauses_isolation import no_special_capability, same_security
from bmwg.reports.checker.verdicts import EVERY_LOAD, Answer, ClauseRule, Scope, clause


@clause("RFC8172-5-04", loads=EVERY_LOAD)
def rfc8172_no_special_capability(scope: Scope) -> Answer:
    """As RFC6815-7-02."""
    return no_special_capability.check(scope)


@clause("RFC8172-5-05", loads=EVERY_LOAD)
def rfc8172_same_security(scope: Scope) -> Answer:
    """As RFC6815-7-03."""
    return same_security.check(scope)


@clause("RFC8204-6-02", loads=EVERY_LOAD)
def rfc8204_no_special_capability(scope: Scope) -> Answer:
    """As RFC6815-7-02."""
    return no_special_capability.check(scope)


@clause("RFC8204-6-03", loads=EVERY_LOAD)
def rfc8204_same_security(scope: Scope) -> Answer:
    """As RFC6815-7-03."""
    return same_security.check(scope)


@clause("CINF08-7-03", loads=EVERY_LOAD)
def containerized_no_special_capability(scope: Scope) -> Answer:
    """As RFC6815-7-02."""
    return no_special_capability.check(scope)


@clause("CINF08-7-04", loads=EVERY_LOAD)
def containerized_same_security(scope: Scope) -> Answer:
    """As RFC6815-7-03."""
    return same_security.check(scope)


RULES: tuple[ClauseRule, ...] = (
    rfc8172_no_special_capability,
    rfc8172_same_security,
    rfc8204_no_special_capability,
    rfc8204_same_security,
    containerized_no_special_capability,
    containerized_same_security,
)
