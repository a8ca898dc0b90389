"""What a verifier knows beforehand: receipt keys, the checkpoint key and witness policies.

log/FORMAT.md sections 2.5, 5.3 and 6; C2SP tlog-policy. Nothing of this is ever taken from the document that is
checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Union

from .ed25519 import public_key_of_jwk, thumbprint
from .encoding import JsonObject, Refused, from_base64url, utf16_length
from .notes import (
    COSIGNER_KEY,
    LOG_KEY,
    ML_DSA_KEY,
    Cosigned,
    OpenedCheckpoint,
    VerifierKey,
    is_map_cosigner,
    open_checkpoint,
    parse_decimal,
    parse_vkey,
)

#: Schema of offline verification kits.
KIT_SCHEMA = "svc-offline-verify-kit-v1"
#: How far the clocks of the log and of a verifier may differ; a constant of format 1.
SKEW_MS = 60_000

_MAX_POLICY = 262_144
_MAX_NAMES = 256


# Witness policies


@dataclass(frozen=True)
class Witness:
    key: VerifierKey


@dataclass(frozen=True)
class Group:
    threshold: int
    members: tuple[Quorum, ...]


Quorum = Union[Witness, Group]


@dataclass(frozen=True)
class Policy:
    """Which cosignatures count, and how many are enough."""

    logs: tuple[VerifierKey, ...]
    #: All witnesses of the policy, also those that no quorum counts, such as monitors named ``.../map``.
    witnesses: tuple[VerifierKey, ...]
    #: None for ``quorum none``.
    quorum: Quorum | None

    def quorum_time(self, cosignatures: Iterable[Cosigned]) -> int | None:
        """The newest time in seconds at or after which a quorum cosigned; None without one."""
        all_of_them = list(cosignatures)
        if self.quorum is None:
            return None
        for time in sorted({one.time_s for one in all_of_them}, reverse=True):
            if _is_met(self.quorum, [one for one in all_of_them if one.time_s >= time]):
                return time
        return None


def _is_met(quorum: Quorum, cosigned: Sequence[Cosigned]) -> bool:
    if isinstance(quorum, Witness):
        return any(one.name == quorum.key.name and one.key_id == quorum.key.key_id for one in cosigned)
    return sum(_is_met(member, cosigned) for member in quorum.members) >= quorum.threshold


def parse_policy(text: str) -> Policy:
    """Reads a C2SP tlog-policy file."""
    if utf16_length(text) > _MAX_POLICY:
        raise Refused(f"policy is over {_MAX_POLICY} characters")
    if re.search("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", text):
        raise Refused("policy has a control character")
    reader = _PolicyReader()
    for number, line in enumerate(text.split("\n"), 1):
        items = [item for item in re.split("[ \t]+", line) if item]
        if not items or items[0].startswith("#"):
            continue
        try:
            reader.line(items[0], items[1:])
        except Refused as error:
            raise Refused(f"line {number}: {error}") from None
    return reader.end()


@dataclass
class _PolicyReader:
    logs: list[VerifierKey] = field(default_factory=list)
    witnesses: list[VerifierKey] = field(default_factory=list)
    named: dict[str, Quorum] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    groups: int = 0
    quorum: Quorum | None = None
    has_quorum: bool = False

    def line(self, keyword: str, items: list[str]) -> None:
        if keyword == "log":
            if not 1 <= len(items) <= 2:
                raise Refused("log takes a vkey and a url")
            self.logs.append(self._key(items[0], (LOG_KEY,), self.logs))
        elif keyword == "witness":
            if not 2 <= len(items) <= 3:
                raise Refused("witness takes a name, a vkey and a url")
            key = self._key(items[1], (COSIGNER_KEY, ML_DSA_KEY), self.witnesses)
            self._define(items[0], Witness(key))
            self.witnesses.append(key)
        elif keyword == "group":
            self._group(items)
        elif keyword == "quorum":
            if len(items) != 1:
                raise Refused("quorum takes one name")
            if self.has_quorum:
                raise Refused("policy has a quorum line already")
            self.quorum = None if items[0] == "none" else self._counted(items[0])
            self.has_quorum = True
        else:
            raise Refused("line begins with none of log, witness, group, quorum")

    def end(self) -> Policy:
        if not self.has_quorum:
            raise Refused("policy has no quorum line")
        return Policy(tuple(self.logs), tuple(self.witnesses), self.quorum)

    def _group(self, items: list[str]) -> None:
        if len(items) < 3:
            raise Refused("group takes a name, all, any or a number, and members")
        name, needed, *names = items
        self.groups += 1
        if self.groups > _MAX_NAMES:
            raise Refused(f"policy has over {_MAX_NAMES} groups")
        members = []
        for member in names:
            members.append(self._counted(member))
            if member in self.taken:
                raise Refused("a member is in a group already")
            self.taken.add(member)
        threshold = len(names) if needed == "all" else 1 if needed == "any" else parse_decimal(needed) or 0
        if not 1 <= threshold <= len(names):
            raise Refused(f"threshold is not from 1 to {len(names)}")
        self._define(name, Group(threshold, tuple(members)))

    def _counted(self, name: str) -> Quorum:
        quorum = self.named.get(name)
        if quorum is None:
            raise Refused("a name is not defined on a line above")
        if isinstance(quorum, Witness) and is_map_cosigner(quorum.key.name):
            raise Refused("a cosigner named …/map counts for no quorum")
        return quorum

    def _define(self, name: str, quorum: Quorum) -> None:
        if name == "none" or name in self.named:
            raise Refused("a name is defined already")
        self.named[name] = quorum

    def _key(self, vkey: str, kinds: Sequence[int], others: Sequence[VerifierKey]) -> VerifierKey:
        key = parse_vkey(vkey)
        if key.type not in kinds:
            raise Refused(f"vkey is not of type {' or '.join(map(str, kinds))}")
        if len(others) >= _MAX_NAMES:
            raise Refused(f"policy has over {_MAX_NAMES} of these")
        if any(other.public_key == key.public_key for other in (*self.logs, *self.witnesses)):
            raise Refused("public key is in the policy already")
        return key


# Trust


@dataclass(frozen=True)
class TrustedKey:
    """A receipt key as the verifier knows it."""

    kid: str
    jwk: JsonObject
    #: ``active``, ``retired`` or ``revoked``. Entries of a retired key hold as before.
    status: str = "active"
    #: Of a revoked key: index of the revoking entry. Only entries below it hold.
    revoked_index: int | None = None
    #: Where that index is unknown: a time at or before the revocation. Only earlier entries hold.
    revoked_at_ms: float | None = None

    def check_in_force(self, *, index: int, issued_at_ms: int, included: bool) -> None:
        """A revocation counts from its own index, and only an inclusion proof shows what is below it."""
        if self.status != "revoked":
            return
        if not included:
            raise Refused("key is revoked and the entry has no inclusion proof")
        if self.revoked_index is not None:
            holds = index < self.revoked_index
        else:
            holds = self.revoked_at_ms is not None and issued_at_ms < self.revoked_at_ms
        if not holds:
            raise Refused("key was revoked before the entry")


@dataclass(frozen=True)
class Trust:
    """Everything that a check rests on beside SHA-256 and Ed25519."""

    origin: str
    #: Verifier key of the log's checkpoint key.
    vkey: str
    keys: tuple[TrustedKey, ...]
    policy: Policy | None = None
    #: Chain kinds that entry types declare, each with its number of members.
    kinds: Mapping[str, int] = field(default_factory=dict)
    #: ``operator`` when keys and policy come from the operator's own kit, else ``caller``.
    policy_source: str = "caller"
    #: Verifier key of the log's second checkpoint key (log/FORMAT.md section 5.2), if it has one.
    vkey_ml_dsa: str | None = None
    #: Refuses checkpoints that this key has not signed. Otherwise findings say whether it has.
    require_ml_dsa: bool = False
    #: Verifier keys of the logs of the service by origin. Findings about two logs need that of the other log.
    logs: Mapping[str, str] = field(default_factory=dict)

    def key_of(self, kid: str) -> tuple[TrustedKey, bytes]:
        """The trusted key of a kid, with its 32 bytes."""
        key = next((one for one in self.keys if one.kid == kid), None)
        if key is None:
            raise Refused("kid is not a trusted receipt key")
        if from_base64url(kid) != thumbprint(key.jwk):
            raise Refused("kid is not the thumbprint of its trusted key")
        return key, public_key_of_jwk(key.jwk)

    def open_tree(self, note: str) -> OpenedCheckpoint:
        """Opens a note of the trusted log with the cosigners of the policy."""
        cosigners = self.policy.witnesses if self.policy is not None else ()
        opened = open_checkpoint(
            note, origin=self.origin, vkey=self.vkey, vkey_ml_dsa=self.vkey_ml_dsa, cosigners=cosigners
        )
        if self.require_ml_dsa and not opened.ml_dsa:
            raise Refused("checkpoint has no ML-DSA-44 signature of its log")
        return opened

    def second_words(self, ml_dsa: bool) -> str:
        """Whether the log signed a checkpoint with ML-DSA-44 as well, after other words; empty without such a key."""
        if self.vkey_ml_dsa is None:
            return ""
        return ", signed with ML-DSA-44 too" if ml_dsa else ", not signed with ML-DSA-44"

    def check_witnesses(self, cosignatures: Iterable[Cosigned], since_ms: int) -> Witnessed:
        """What the cosignatures since a time come to. Refused where the policy has a quorum that they do not meet."""
        all_of_them = list(cosignatures)
        monitors = sum(one.map for one in all_of_them)
        if self.policy is None or self.policy.quorum is None:
            return Witnessed(0, monitors, None)
        in_time = [one for one in all_of_them if not one.map and one.time_s * 1000 >= since_ms]
        time_s = self.policy.quorum_time(in_time)
        if time_s is None:
            raise Refused("too few witnesses of the policy cosigned in time")
        return Witnessed(len(in_time), monitors, time_s * 1000)


@dataclass(frozen=True)
class Witnessed:
    #: Keys of the policy that cosigned in time; 0 without a policy.
    witnessed: int
    #: Monitors that checked every rule up to this size.
    map_verified: int
    #: The time at which the quorum was complete; None without a policy.
    quorum_ms: int | None
