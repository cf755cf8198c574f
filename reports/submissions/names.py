"""Names of organizations and products as people read them: what looks like another name is not let in."""

from __future__ import annotations

import re
import unicodedata

_OTHER = re.compile(r"[^a-z0-9.]+")
_LOOKS = str.maketrans(  # Cyrillic and Greek letters that look like Latin ones
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u03c4\u0131\u043a\u043c\u0442\u0432\u043d\u0261",
    "aeopcyxijshdqwaopviktikmtbhg",
)
_ALIKE = str.maketrans("01l|", "oiii")


def slug(text: str) -> str:
    """Return a name as it stands in a folder's name: letters beyond ASCII in the form of RFC 3492."""
    lowered = unicodedata.normalize("NFKC", text).casefold()
    plain = _OTHER.sub("-", lowered).strip("-.")
    letters = "".join(c for c in lowered if not c.isascii() and c.isalnum())
    if not letters:
        return plain
    coded = letters.encode("punycode").decode("ascii").casefold()
    return f"{plain}-xn--{coded}".strip("-.")


def scripts(text: str) -> tuple[str, ...]:
    """Return the scripts of a name's letters, as the Unicode names of the letters begin."""
    found = (unicodedata.name(c, "UNNAMED").split(" ")[0] for c in text if c.isalpha())
    return tuple(sorted(set(found)))


def problems(text: str) -> list[str]:
    """Return why nobody can tell by reading which name this is; empty for a name that can be shown."""
    said = []
    if text != unicodedata.normalize("NFKC", text):
        said.append("characters that stand for others (not in normalization form KC)")
    hidden = sorted({f"U+{ord(c):04X}" for c in text if unicodedata.category(c)[0] == "C"})
    if hidden:
        said.append(f"characters that nobody sees: {', '.join(hidden)}")
    for word in text.split():
        if len(set(scripts(word)) & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}) > 1:
            said.append(f"a word of several scripts: {', '.join(scripts(word))}")
    return said


def skeleton(text: str) -> str:
    """Return what is equal for names that look alike."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold()).translate(_LOOKS)
    return "".join(c for c in folded if c.isalnum()).translate(_ALIKE)


def shown(text: str) -> str:
    """Return a name with its script, where that is another than Latin."""
    found = [script for script in scripts(text) if script != "LATIN"]
    return f"{text} [{', '.join(found).lower()}]" if found else text
