"""Proofs about the log tree and the head map, and chain keys (log/FORMAT.md sections 3, 4 and 5.5).

Every argument may come from an attacker, the sizes included, except the roots, which a checkpoint or a map head has
signed, and the chain key, which is the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Union

from .encoding import MAX_INTEGER, Json, Refused, from_base64, lp, to_base64, u64, utf16_length

#: Root of the log without entries.
EMPTY_ROOT = sha256(b"").digest()
#: Root of the map without keys, and the hash of every empty place in it.
EMPTY_MAP = bytes(32)
_EMPTY_MAP_BASE64 = to_base64(EMPTY_MAP)
#: A map path has at most one sibling for each bit of a key.
MAX_SIBLINGS = 256

#: A hash, or its base64, which is decoded where it is hashed.
Node = Union[bytes, str]


def leaf_hash(entry: bytes) -> bytes:
    """H(00, entry)."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: Node, right: Node) -> bytes:
    """H(01, left, right)."""
    return sha256(b"\x01" + _hash_bytes(left) + _hash_bytes(right)).digest()


def _hash_bytes(node: Node) -> bytes:
    try:
        data = from_base64(node, 32) if isinstance(node, str) else node
    except Refused:
        raise Refused("a hash is not 32 bytes") from None
    if len(data) != 32:
        raise Refused("a hash is not 32 bytes")
    return data


# The log tree


class _Way:
    """The pair (fn, sn) of RFC 9162: a node, and the last node of its level, on the way to the root."""

    def __init__(self, node: int, last: int) -> None:
        self.node = node
        self.last = last

    def step(self) -> bool:
        """Goes up to where the next sibling is hashed; true when that sibling is the left one."""
        if self.last == 0:
            raise Refused("the path is too long")
        left = self.node % 2 == 1 or self.node == self.last
        if left:
            # The last node of a level without a sibling rises unhashed until it is a right child.
            while self.node % 2 == 0 and self.node != 0:
                self.up()
        self.up()
        return left

    def up(self) -> None:
        self.node >>= 1
        self.last >>= 1

    def end(self) -> None:
        if self.last != 0:
            raise Refused("the path is too short")


def check_inclusion(*, index: int, size: int, leaf: bytes, path: Sequence[Node], root: bytes) -> None:
    """Checks that the leaf is at ``index`` in the tree of ``size`` with this root (RFC 9162 section 2.1.3.2)."""
    _check_hash(root, "root")
    _check_size(index, "index")
    _check_size(size, "size")
    if index >= size:
        raise Refused(f"index {index} is not below size {size}")
    _check_hash(leaf, "leaf hash")
    way = _Way(index, size - 1)
    node = leaf
    for sibling in path:
        node = node_hash(sibling, node) if way.step() else node_hash(node, sibling)
    way.end()
    if node != root:
        raise Refused("the path does not lead to the root")


def check_consistency(*, old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[Node]) -> None:
    """Checks that the tree of size ``old`` is a prefix of that of size ``new`` (RFC 9162 section 2.1.4.2)."""
    _check_size(old, "from")
    _check_size(new, "to")
    if old > new:
        raise Refused(f"from {old} is over to {new}")
    if (old == 0 and old_root != EMPTY_ROOT) or (new == 0 and new_root != EMPTY_ROOT):
        raise Refused("the root of size 0 is not the root of the empty tree")
    if old == new:
        if old_root != new_root:
            raise Refused("from and to are the same size and have different roots")
    else:
        _check_hash(old_root, "root of from")
        _check_hash(new_root, "root of to")
    if old in (0, new):
        if path:
            raise Refused("the path from size 0, or between equal sizes, is not empty")
        return
    way = _Way(old - 1, new - 1)
    while way.node % 2 == 1:
        way.up()
    # A tree of 2^n leaves is a node of the newer tree: its root begins the path and is not repeated in it.
    nodes = [old_root, *path] if way.node == 0 else list(path)
    if not nodes:
        raise Refused("the path is empty")
    first = second = _hash_bytes(nodes[0])
    for sibling in nodes[1:]:
        if way.step():
            first = node_hash(sibling, first)
            second = node_hash(sibling, second)
        else:
            second = node_hash(second, sibling)
    way.end()
    if first != old_root:
        raise Refused("the path does not lead to the older root")
    if second != new_root:
        raise Refused("the path does not lead to the newer root")


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The RFC 6962 root of a tree with these leaf hashes."""
    level = list(leaves)
    if not level:
        return EMPTY_ROOT
    while len(level) > 1:
        pairs = [node_hash(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]


def _check_size(n: int, what: str) -> None:
    if not 0 <= n <= MAX_INTEGER:
        raise Refused(f"{what} is not an integer to 2^53 - 1")


def _check_hash(data: bytes, what: str) -> None:
    if len(data) != 32:
        raise Refused(f"{what} is {len(data)} bytes, not 32")


# The head map


@dataclass(frozen=True)
class Head:
    """The head of a chain: how many entries it has, and its last one."""

    count: int
    last_index: int
    last_ms: int
    last_leaf_hash: bytes

    def vhash(self) -> bytes:
        """H(04, head): the value of the chain in the map."""
        record = b"\x01" + u64(self.count) + u64(self.last_index) + u64(self.last_ms) + self.last_leaf_hash
        return sha256(b"\x04" + record).digest()


@dataclass(frozen=True)
class MapLeaf:
    skey: bytes
    vhash: bytes

    def hash(self) -> bytes:
        return sha256(b"\x02" + self.skey + self.vhash).digest()


def check_member(*, root: bytes, leaf: MapLeaf, siblings: Sequence[str]) -> None:
    """Checks that the map with this root has this leaf. Siblings run from the root down, ``""`` for an empty one."""
    _check_siblings(siblings)
    _check_map_root(leaf.hash(), leaf.skey, siblings, root)


def check_non_member(*, root: bytes, skey: bytes, siblings: Sequence[str], foreign: MapLeaf | None) -> None:
    """Checks that the map with this root lacks ``skey``: its place is empty or holds the foreign leaf."""
    _check_siblings(siblings)
    place = EMPTY_MAP
    if foreign is not None:
        if foreign.skey == skey:
            raise Refused("the foreign leaf is the key itself")
        if any(_bit(foreign.skey, d) != _bit(skey, d) for d in range(len(siblings))):
            raise Refused("the foreign leaf is not on the path of the key")
        place = foreign.hash()
    # The path follows the bits of the key that was asked for, never those of the foreign leaf.
    _check_map_root(place, skey, siblings, root)


def _check_siblings(siblings: Sequence[str]) -> None:
    if len(siblings) > MAX_SIBLINGS:
        raise Refused(f"path has {len(siblings)} siblings, the limit is {MAX_SIBLINGS}")
    if _EMPTY_MAP_BASE64 in siblings:
        raise Refused("an empty sibling is spelled out")
    if siblings and siblings[-1] == "":
        raise Refused("the last sibling is empty")


def _check_map_root(node: bytes, skey: bytes, siblings: Sequence[str], root: bytes) -> None:
    for depth in range(len(siblings) - 1, -1, -1):
        sibling = _hash_bytes(siblings[depth]) if siblings[depth] else EMPTY_MAP
        pair = sibling + node if _bit(skey, depth) else node + sibling
        node = sha256(b"\x03" + pair).digest()
    if node != root:
        raise Refused("path does not lead to the map root")


def _bit(key: bytes, depth: int) -> int:
    return key[depth >> 3] >> (7 - (depth & 7)) & 1


# Chain keys

ChainKey = tuple[str, ...]


def skey_of(origin: str, key: ChainKey) -> bytes:
    """H(05, lp(origin), lp(key[0]), lp(key[1]), ...): the place of a chain in the head map."""
    return sha256(b"\x05" + lp(origin) + b"".join(lp(part) for part in key)).digest()


def _matches(pattern: str) -> tuple[Callable[[str], bool], str]:
    expression = re.compile(pattern.replace("$", r"\Z"))
    return lambda text: expression.match(text) is not None, pattern


def _is_normal_payment_hash(text: str) -> bool:
    """The normal form of gateway/API.md section 7.3: normalising it once more changes nothing."""
    if not re.fullmatch(r"[A-Za-z0-9:_+/=.-]{16,128}", text) or text.startswith(("sha256:", "0x")):
        return False
    return not (re.fullmatch(r"[0-9A-Fa-f]{64}", text) and re.search("[A-F]", text))


_ENTITY = _matches("^[a-z0-9][a-z0-9:._-]{0,255}$")
_SURFACE = _matches("^[a-z][a-z0-9_]{0,63}$")
_HASH_NAME = _matches("^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$")
_PAYMENT = (_is_normal_payment_hash, "its normal form of 16 to 128 characters")
_ACTION = _matches("^[0-9a-f]{64}$")
_UUID = _matches("^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
_TYPE = _matches(r"^[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*\.v[1-9][0-9]*$")

#: Whether a text is a chain kind as entry types declare them.
is_declared_kind = _matches(r"^[a-z][a-z0-9-]*\.[a-z][a-z0-9_]*$")[0]

#: The chain kinds of log/FORMAT.md section 3.1, each with the grammar of its members.
KINDS: Mapping[str, Sequence[tuple[Callable[[str], bool], str]]] = {
    "entity": (_ENTITY,),
    "surface": (_ENTITY, _SURFACE),
    "session": (_HASH_NAME,),
    "payment": (_PAYMENT,),
    "action": (_ACTION,),
    "trigger": (_UUID,),
    "manifest": (_ENTITY,),
    "heartbeat": (_ENTITY, _SURFACE),
    "claim": (_ENTITY,),
    "key": (_HASH_NAME,),
    "type": (_TYPE,),
}


def check_key(key: Json | ChainKey, declared: Mapping[str, int] | None = None) -> ChainKey:
    """A chain key that a caller names, checked.

    :param declared: kinds that entry types declare, each with its number of members
    """
    if not isinstance(key, (list, tuple)) or not key or not all(isinstance(part, str) for part in key):
        raise Refused("chain key is not an array of strings")
    kind, *members = key
    rules = KINDS.get(kind)
    wanted = len(rules) if rules is not None else (declared or {}).get(kind)
    if wanted is None:
        raise Refused("chain kind is unknown")
    if len(members) != wanted:
        raise Refused(f"chain key of kind {kind} has {len(members)} members, not {wanted}")
    for i, member in enumerate(members):
        if rules is not None:
            test, rule = rules[i]
            if not test(member):
                raise Refused(f"member {i + 1} of chain key {kind} is not {rule}")
        if re.search("[\ud800-\udfff]", member) or utf16_length(member) > 0xFFFF:
            raise Refused(f"member {i + 1} of chain key {kind} is not a text of at most 65535 bytes")
    return (kind, *members)
