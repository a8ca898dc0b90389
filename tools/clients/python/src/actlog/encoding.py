"""Byte strings, their spellings, strict JSON and its canonical form (log/FORMAT.md, Notation).

Everything that is decoded here may have been chosen by an attacker. Each value has one spelling, and every
other spelling is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Union

import rfc8785

Json = Union[None, bool, int, float, str, list[Any], dict[str, Any]]
JsonObject = dict[str, Any]

#: The largest integer of I-JSON, 2^53 - 1.
MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 16

#: White space of ECMAScript, which the text formats of the service trim.
WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


class Refused(Exception):
    """Something does not hold. The message says what, in lower case and without a period."""


class JsonInvalid(Refused):
    """A text is not the JSON that this place accepts."""


def same(a: Json, b: Json) -> bool:
    """Equality of JSON values. Python takes ``True`` for 1; JSON does not."""
    return type(a) is type(b) and a == b


# Spellings of bytes


def from_hex(text: str, length: int) -> bytes:
    """The bytes of exactly ``length`` in lower-case hex."""
    if utf16_length(text) % 2:
        raise Refused("hex has an odd number of digits")
    _check_length(utf16_length(text) // 2, length, "hex")
    if not re.fullmatch(r"[0-9a-f]*", text):
        raise Refused("text has a character that is not a digit")
    return bytes.fromhex(text)


def from_base64(text: str, length: int | None = None) -> bytes:
    """The bytes of padded base64 (RFC 4648 section 4) whose spare bits are zero."""
    units = utf16_length(text)
    if units % 4:
        raise Refused("base64 is not padded to a multiple of 4")
    padding = 2 if text.endswith("==") else 1 if text.endswith("=") else 0
    _check_length((units - padding) * 3 // 4, length, "base64")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Refused("text has a character that is not a digit") from None
    if to_base64(data) != text:
        raise Refused(
            "base64 has spare bits that are not zero"
            if re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", text)
            else "text has a character that is not a digit"
        )
    return data


def from_base64url(text: str, length: int | None = None) -> bytes:
    """The bytes of unpadded base64url (RFC 4648 section 5) whose spare bits are zero."""
    units = utf16_length(text)
    if units % 4 == 1:
        raise Refused("base64url has a digit left over")
    _check_length(units * 3 // 4, length, "base64")
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise Refused("text has a character that is not a digit")
    data = base64.urlsafe_b64decode(text + "=" * (-units % 4))
    if to_base64url(data) != text:
        raise Refused("base64 has spare bits that are not zero")
    return data


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def to_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def u64(n: int) -> bytes:
    return n.to_bytes(8, "big")


def lp(text: str) -> bytes:
    """The UTF-8 of a text after its length as a u16."""
    data = utf8(text)
    if len(data) > 0xFFFF:
        raise Refused("text is over 65,535 bytes")
    return len(data).to_bytes(2, "big") + data


def utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("text has a lone surrogate") from None


def from_utf8(data: bytes) -> str:
    """The text of well-formed UTF-8 without a byte order mark."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("bytes are not UTF-8") from None
    if text.startswith("\ufeff"):
        raise Refused("text begins with a byte order mark")
    return text


def utf16_length(text: str) -> int:
    """The number of UTF-16 code units, in which limits on texts are counted."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _check_length(size: int, length: int | None, what: str) -> None:
    if length is not None and size != length:
        raise Refused(f"{what} is {size} bytes, not {length}")


# JSON

_SCAN = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<number>[-0-9][0-9.eE+-]*)', re.DOTALL
)


def parse_json(text: str, *, fractions: bool = False, max_depth: int = MAX_DEPTH, max_bytes: int | None = None) -> Json:
    """The value of an I-JSON text.

    ``fractions`` allows numbers of every spelling that a double keeps, as in committed values; a number that is an
    integer up to 2^53 - 1 becomes an ``int`` however it is spelled.

    :raises JsonInvalid: for whatever breaks a rule of log/FORMAT.md, Notation
    """
    if max_bytes is not None or not text.isascii():
        _check_text(text)
    if max_bytes is not None and len(text) * 4 > max_bytes:
        length = utf16_length(text)
        if length <= max_bytes:
            length = len(text.encode("utf-8"))
        if length > max_bytes:
            raise JsonInvalid(f"text is {length} bytes, the limit is {max_bytes}")
    _scan(text, max_depth, fractions)
    repeated = False

    def members(pairs: list[tuple[str, Json]]) -> JsonObject:
        nonlocal repeated
        value = dict(pairs)
        repeated = repeated or len(value) != len(pairs)
        return value

    try:
        value: Json = json.loads(
            text, object_pairs_hook=members, parse_int=_integer, parse_float=number_of, parse_constant=_no_constant
        )
    except ValueError:
        raise JsonInvalid("text is not json") from None
    if "\\u" in text:
        _check_strings(value)
    if repeated:
        raise JsonInvalid("one object has a member name twice")
    return value


def canonical(value: Json) -> bytes:
    """The canonical form of RFC 8785, in UTF-8."""
    try:
        return rfc8785.dumps(value)
    except (ValueError, RecursionError) as error:
        raise JsonInvalid(f"value has no canonical form: {error}") from None


def canonical_text(value: Json) -> str:
    return canonical(value).decode("utf-8")


def _scan(text: str, max_depth: int, fractions: bool) -> None:
    """Checks nesting and numbers in the order of the text, before it is parsed."""
    depth = 0
    for found in _SCAN.finditer(text):
        kind = found.lastgroup
        if kind == "number":
            _check_number(found.group(), fractions)
        elif kind == "open":
            depth += 1
            if depth > max_depth:
                raise JsonInvalid(f"nesting is over {max_depth} levels")
        elif kind == "close":
            depth -= 1


def _check_number(spelling: str, fractions: bool) -> None:
    plain = not re.search("[.eE]", spelling)
    if not plain and not fractions:
        raise JsonInvalid("a number is written with a fraction or an exponent")
    if plain and len(spelling) <= 15 and spelling[0] != "-":
        return
    try:
        value = float(spelling)
    except ValueError:
        return  # no number, as the parser will say
    if value == 0 and spelling[0] == "-":
        raise JsonInvalid("a number is minus zero")
    if plain and abs(value) > MAX_INTEGER and not (fractions and _printed(value) == spelling):
        raise JsonInvalid("an integer is not between -(2^53 - 1) and 2^53 - 1")
    if abs(value) == float("inf"):
        raise JsonInvalid("a number is too large")


def _printed(value: float) -> str | None:
    return None if abs(value) == float("inf") else rfc8785.dumps(value).decode("ascii")


def _integer(spelling: str) -> int | float:
    value = int(spelling)
    return value if abs(value) <= MAX_INTEGER else float(value)


def number_of(spelling: str) -> int | float:
    """The number of a spelling with a fraction or exponent; an ``int`` where it is an integer of I-JSON."""
    value = float(spelling)
    return int(value) if value.is_integer() and abs(value) <= MAX_INTEGER else value


def _no_constant(name: str) -> Json:
    raise ValueError(name)


def _check_strings(value: Json) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, list):
        for element in value:
            _check_strings(element)
    elif isinstance(value, dict):
        for name, member in value.items():
            _check_text(name)
            _check_strings(member)


def _check_text(text: str) -> None:
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise JsonInvalid("text has a lone surrogate")


# Members of parsed documents


def exact_object(value: Json, what: str, required: Sequence[str], optional: Sequence[str] = ()) -> JsonObject:
    """The value as an object that has all of ``required``, perhaps some of ``optional``, and nothing else."""
    if not isinstance(value, dict):
        raise Refused(f"{what} is not an object")
    for name in required:
        if name not in value:
            raise Refused(f"{what} has no {name}")
    if any(name not in required and name not in optional for name in value):
        raise Refused(f"{what} has a member it may not have")
    return value


def count(value: Json, what: str) -> int:
    """The value as an integer from 0 to 2^53 - 1."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_INTEGER:
        raise Refused(f"{what} is not an integer from 0 to 2^53 - 1")
    return value


def string(value: Json, what: str) -> str:
    if not isinstance(value, str):
        raise Refused(f"{what} is not a string")
    return value


def array(value: Json, what: str, limit: int) -> list[Any]:
    if not isinstance(value, list):
        raise Refused(f"{what} is not a list")
    if len(value) > limit:
        raise Refused(f"{what} has over {limit} values")
    return value


def strings(value: Json, what: str, limit: int) -> list[str]:
    return [string(text, what) for text in array(value, what, limit)]


def hash_of(value: Json, what: str) -> bytes:
    """The value as 32 bytes in base64."""
    try:
        return from_base64(string(value, what), 32)
    except Refused:
        raise Refused(f"{what} is not 32 bytes in base64") from None


def object_of(value: object) -> Mapping[str, Any]:
    """The value as an object; empty when it is none."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def objects_of(value: object) -> list[JsonObject]:
    """The objects of a list; none when it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
