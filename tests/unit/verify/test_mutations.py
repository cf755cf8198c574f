"""No single change to a signed bundle goes through against the signer's key; each names the rule."""

from __future__ import annotations

from collections import Counter

import mutations
import pytest

from bmwg.reports.bundle.signing import load_public
from bmwg.reports.verify.verify import verify_bundle

FEW, ALL = 84, 1000


def accepted(bundle, keys, tmp_path, seeds):
    """Return the mutations that went through, and which rules caught the others."""
    original, parts = bundle.read_bytes(), mutations.parts_of(bundle)
    assert mutations.packed(parts) == original  # the form is the only one
    trusted = load_public(keys["signer.pub"])
    changed = tmp_path / "changed.tar"
    through, caught = [], Counter()
    for seed in seeds:
        name, data = mutations.mutate(original, parts, seed, keys["other"])
        assert data != original, (seed, name)
        changed.write_bytes(data)
        verified = verify_bundle(changed, trusted)
        if verified.exit_code == 0:
            through.append((seed, name))
        for rule_id in {finding.rule_id for finding in verified.findings}:
            caught[name, rule_id] += 1
    return through, caught


def test_no_mutation_goes_through(bundle, keys, tmp_path):
    through, caught = accepted(bundle, keys, tmp_path, range(FEW))
    assert through == []
    found = {rule_id for _, rule_id in caught}
    assert {"BND-03", "SIG-02", "VER-20", "VER-21", "STORE-01", "VER-08"} <= found
    for change in mutations.ON_PARTS:
        assert any(name.split()[0] == change.__name__ for name, _ in caught), change.__name__


@pytest.mark.slow
def test_none_of_a_thousand_mutations_goes_through(bundle, keys, tmp_path):
    through, caught = accepted(bundle, keys, tmp_path, range(ALL))
    assert through == []
    assert sum(caught.values()) >= ALL
