"""Takes addresses and this machine's name out of a sentence before it enters the journal.

The journal is published with a result; who ran it and where is not part of the evidence.
"""

from __future__ import annotations

import ipaddress
import platform
import re

_MAC = re.compile(r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])")
_IPV4 = re.compile(r"(?<![0-9.])\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?![0-9]|\.\d)")
_IPV6 = re.compile(
    r"(?<![\w:])(?=[0-9A-Fa-f]*:[0-9A-Fa-f]*:)[0-9A-Fa-f:]+(?:\d+\.\d+\.\d+\.\d+)?(?:/\d{1,3})?(?![\w:])"
)
_PLAIN_NAME = re.compile(r"[a-z]*", re.IGNORECASE)


def redact(sentence: str, host_name: str | None = None) -> str:
    """Return the sentence with MAC, IPv4 and IPv6 addresses and the host's name replaced by a placeholder.

    A host name of letters only is left alone: it may be an ordinary word of the sentence.
    """
    if not sentence:
        return sentence
    text = _MAC.sub("<address>", sentence)
    text = _IPV4.sub(_if_address, text)
    text = _IPV6.sub(_if_address, text)
    name = platform.node() if host_name is None else host_name
    for word in (name, name.split(".", maxsplit=1)[0]):
        if len(word) >= 3 and not _PLAIN_NAME.fullmatch(word):
            text = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", "<host>", text)
    return text


def _if_address(match: re.Match[str]) -> str:
    text = match.group()
    bare = text.rstrip(".:") if not text.endswith("::") else text
    try:
        ipaddress.ip_interface(bare)
    except ValueError:
        return text
    return "<address>" + text[len(bare) :]
