"""Changes an input: as data where it is JSON or YAML, as octets otherwise. Seeded: a finding comes again."""

import copy
import json

import yaml

ODD = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**64), 10**400, 0.5, -0.0, 1e308),
    *(
        "",
        "\0",
        "x" * 5000,
        "../../etc/passwd",
        "9" * 400,
        "1e999",
        "\ud800",
        "0",
        "-1",
        "NaN",
        "*",
        "${nic}",
    ),
    *([], {}, [[]], [{}], {"": None}, [0] * 500),
]
TEXTS = [b"NaN", b"-Infinity", b"1e999", b"[" * 3000, b"\xff\xfe", b"\0", b"\n", b'"', b"{", b"9" * 5000]


def _places(data):
    """Every place below a document as (container, key)."""
    found, left = [], [data]
    while left:
        here = left.pop()
        keys = here if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        for key in list(keys):
            found.append((here, key))
            left.append(here[key])
    return found


def as_data(data, chance):
    """Change one to three places of a document, and return it."""
    data = copy.deepcopy(data)
    for _ in range(chance.randint(1, 3)):
        places = _places(data)
        if not places:
            return chance.choice(ODD)
        holder, key = chance.choice(places)
        match chance.randrange(5):
            case 0:
                del holder[key]
            case 1:
                holder[key] = copy.deepcopy(chance.choice(ODD))
            case 2:
                other, name = chance.choice(places)
                if isinstance(other, list) or name in other:
                    holder[key] = copy.deepcopy(other[name]) if name in _keys(other) else None
            case 3 if isinstance(holder, dict):
                holder[str(chance.choice(ODD))[:40]] = copy.deepcopy(holder[key])
            case 3:
                holder.insert(key, copy.deepcopy(holder[key]))
            case _:
                value = holder[key]
                if isinstance(value, int | float):
                    holder[key] = value + chance.choice((-1, 1, 0.5, 10**18))
                elif isinstance(value, str):
                    at = chance.randint(0, len(value))
                    holder[key] = (
                        value[:at] + chance.choice(("", "\n", "é", "%", "-", "0", "}")) + value[at + 1 :]
                    )
                else:
                    holder[key] = [value]
    return data


def _keys(holder):
    return holder if isinstance(holder, dict) else range(len(holder))


def as_octets(octets, chance):
    """Cut, double, overwrite or insert."""
    octets = bytearray(octets)
    for _ in range(chance.randint(1, 4)):
        first, last = sorted((chance.randint(0, len(octets)), chance.randint(0, len(octets))))
        match chance.randrange(5):
            case 0:
                del octets[first : first + chance.randint(1, 40)]
            case 1:
                octets[first:first] = chance.choice(TEXTS)
            case 2:
                octets[first:first] = octets[first : min(last, first + 400)]
            case 3 if octets:
                octets[min(first, len(octets) - 1)] ^= 1 << chance.randrange(8)
            case _:
                del octets[last:]
    return bytes(octets)


def mutated(octets, chance, form="json"):
    """Return another input. `form` is json, lines (JSON lines), yaml or octets."""
    if form != "octets" and chance.random() < 0.7:
        try:
            if form == "yaml":
                return yaml.safe_dump(as_data(yaml.safe_load(octets), chance)).encode()
            lines = octets.split(b"\n") if form == "lines" else [octets]
            at = chance.randrange(len(lines))
            lines[at] = json.dumps(as_data(json.loads(lines[at]), chance), sort_keys=True).encode()
            return b"\n".join(lines)
        except (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError, yaml.YAMLError):
            pass  # no document any more
    return as_octets(octets, chance)
