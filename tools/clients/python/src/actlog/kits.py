"""Offline verification kits: the trust that one gives, and a kit checked against itself (gateway/API.md section 2.5).

A kit comes from the operator of the log. What is checked with it is therefore reported with the policy source
``operator``, and a caller compares a new kit with one that it has kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256

from .ed25519 import public_key_of_jwk
from .encoding import (
    Json,
    JsonObject,
    Refused,
    array,
    canonical,
    object_of,
    objects_of,
    parse_json,
    same,
    string,
    text_of,
    to_base64url,
)
from .findings import Finding, finding_of
from .receipts import Checks, NotShown, verify_receipt
from .tree import is_declared_kind
from .trust import KIT_SCHEMA, Policy, Trust, TrustedKey, parse_policy

MAX_KIT_BYTES = 4 * 1024 * 1024
_MAX_KEYS = 10_000


def read_kit(text: str) -> JsonObject:
    """The kit of a text. It is JSON as receipts have it, with the schema of kits; nothing else is checked."""
    kit = parse_json(text, fractions=True, max_bytes=MAX_KIT_BYTES)
    if not isinstance(kit, dict):
        raise Refused("kit is not an object")
    if kit.get("schema") != KIT_SCHEMA:
        raise Refused("kit has another schema")
    return kit


def origins_of(kit: Mapping[str, Json]) -> list[str]:
    """The origins of the logs of a kit."""
    return [log["origin"] for log in objects_of(kit.get("logs")) if isinstance(log.get("origin"), str)]


def trust_from_kit(kit: Mapping[str, Json], origin: str) -> Trust:
    """What a kit says of one log: vkey, receipt keys, declared chain kinds, and a witness policy that is about it."""
    if kit.get("schema") != KIT_SCHEMA:
        raise Refused("kit has another schema")
    logs = array(kit.get("logs"), "logs of the kit", _MAX_KEYS)
    log = next((one for one in logs if isinstance(one, dict) and one.get("origin") == origin), None)
    if log is None:
        raise Refused("kit has no such log")
    policy = _policy_of(log.get("policy", kit.get("policy")), origin)
    vkey = string(log.get("vkey"), "vkey of the log")
    kinds = _kinds_of(log.get("kinds"))
    second = string(log["vkey_ml_dsa"], "vkey_ml_dsa of the log") if "vkey_ml_dsa" in log else None
    keys = tuple(_keys_of(kit, origin))
    vkeys = _vkeys_of(kit)
    return Trust(origin, vkey, keys, policy, kinds, policy_source="operator", vkey_ml_dsa=second, logs=vkeys)


def _vkeys_of(kit: Mapping[str, Json]) -> dict[str, str]:
    """The verifier keys of the logs by origin; of two logs with one origin, that of the first."""
    vkeys: dict[str, str] = {}
    logs = kit.get("logs")
    for log in logs if isinstance(logs, list) else []:
        origin, vkey = (log.get("origin"), log.get("vkey")) if isinstance(log, dict) else (None, None)
        if isinstance(origin, str) and isinstance(vkey, str):
            vkeys.setdefault(origin, vkey)
    return vkeys


def _kinds_of(kinds: Json | None) -> dict[str, int]:
    """The chain kinds of a log with their number of members; older kits have none."""
    if kinds is None:
        return {}
    if not isinstance(kinds, dict):
        raise Refused("chain kinds of the log are not an object")
    for kind, members in kinds.items():
        if not is_declared_kind(kind) or not isinstance(members, int) or isinstance(members, bool) or members < 1:
            raise Refused(f"the chain kind {kind} of the log is none that entry types declare")
    return {kind: members for kind, members in kinds.items() if isinstance(members, int)}


def _policy_of(text: Json | None, origin: str) -> Policy | None:
    """The policy of a log, or the one that older kits have for all logs; None where it is about other logs."""
    if not isinstance(text, str):
        return None
    policy = parse_policy(text)
    return policy if not policy.logs or any(log.name == origin for log in policy.logs) else None


def _keys_of(kit: Mapping[str, Json], origin: str) -> Iterator[TrustedKey]:
    keys = kit.get("keys")
    for jwk in array(keys.get("keys") if isinstance(keys, dict) else keys, "keys of the kit", _MAX_KEYS):
        if not isinstance(jwk, dict):
            raise Refused("a key of the kit is not an object")
        # A key with a purpose signs other things: a receipt that it signed would be a forgery.
        if jwk.get("origin") == origin and "purpose" not in jwk:
            yield _key_of_jwk(jwk)


def _key_of_jwk(jwk: JsonObject) -> TrustedKey:
    """``exp`` ends a key, ``revoked_index`` and ``revoked_at`` (in seconds, rounded down) revoke it."""
    at, index = (value if _is_number(value) else None for value in (jwk.get("revoked_at"), jwk.get("revoked_index")))
    revoked = at is not None or index is not None
    kid = string(jwk.get("kid"), "kid of a key")
    return TrustedKey(
        kid,
        {"kty": "OKP", "crv": "Ed25519", "x": to_base64url(public_key_of_jwk(jwk))},
        "revoked" if revoked else "retired" if "exp" in jwk else "active",
        index,
        None if at is None else at * 1000,
    )


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def kit_change(older: Mapping[str, Json], newer: Mapping[str, Json]) -> str | None:
    """The first thing that a newer kit changes or takes away; None when there is none.

    A newer kit may add logs and keys, and end keys (gateway/API.md section 2.1).
    """
    for origin in origins_of(older):
        if origin not in origins_of(newer):
            return f"it no longer names the log {origin}"
        before = trust_from_kit(older, origin)
        after = trust_from_kit(newer, origin)
        if before.vkey != after.vkey:
            return f"it has another checkpoint key for {origin}"
        # A service may begin and cease to sign with ML-DSA-44, but not change the key.
        if before.vkey_ml_dsa not in (None, after.vkey_ml_dsa) and after.vkey_ml_dsa is not None:
            return f"it has another ML-DSA-44 key for {origin}"
        for kind, count in before.kinds.items():
            if after.kinds.get(kind) != count:
                return f"it changes the chain kind {kind}"
        for key in before.keys:
            now = next((one for one in after.keys if one.kid == key.kid), None)
            if now is None:
                return f"it no longer names the receipt key {key.kid}"
            if key.status == "revoked" and now.status != "revoked":
                return "it takes back a revocation"
    present = _purpose_keys(newer)
    for identity, name in _purpose_keys(older).items():
        if identity not in present:
            return f"it has no such {name}"
    return None


def _purpose_keys(kit: Mapping[str, Json]) -> dict[tuple[str, ...], str]:
    """The keys of other purposes than receipts: how to name them, by purpose, log and key."""
    found = {}
    for name in ("keys", "cose_keys"):
        for key in objects_of(object_of(kit.get(name)).get("keys")):
            if "purpose" in key:
                purpose, origin, kid = (text_of(key.get(one)) for one in ("purpose", "origin", "kid"))
                members = tuple(text_of(key.get(one)) for one in ("kty", "crv", "x", "y"))
                found[(name, purpose, origin, *members)] = f"key for {purpose} of {origin}: {kid}"
    return found


# A kit against itself


def check_kit(kit: JsonObject, trusts: Sequence[Trust], pinned: JsonObject | None = None) -> Finding:
    """Checks the checkpoints and vectors of a kit, the entry that commits to it, and the kit against the pinned one.

    Vectors of exports (AIR, COSE) are named and not checked.
    """
    checks = Checks()

    def trust_for(origin: Json) -> Trust | None:
        return next((trust for trust in trusts if trust.origin == origin), None)

    if pinned is not None:
        kept = pinned
        checks.run("pinned_kit", lambda: _compared(kept, kit))
    for log in objects_of(kit.get("logs")):
        checks.run("checkpoint", lambda: _check_log(log, trust_for(log.get("origin"))))
    for i, vector in enumerate(objects_of(kit.get("vectors"))):
        origin = object_of(vector.get("receipt")).get("origin")
        trust = trust_for(origin) or (trusts[0] if trusts else None)
        checks.run("vector", lambda: _check_vector(i, vector, trust))
    exports = len(objects_of(kit.get("export_vectors")))
    if exports:
        said = NotShown(f"{exports} of AIR exports and COSE messages, which this verifier does not check")
        checks.run("export_vector", lambda: said)
    checks.run("receipt", lambda: _committed(kit, trust_for))
    words = "the kit agrees with itself and is in the log; but its operator gave it to you"
    if pinned is not None:
        words = "the kit agrees with itself and with the pinned one, and is in the log"
    return finding_of(checks.all, words, {"logs": [trust.origin for trust in trusts]})


def _compared(pinned: JsonObject, kit: JsonObject) -> str:
    """Compares a kit with the pinned one; either may be the newer."""
    wrong = kit_change(pinned, kit)
    if wrong is None:
        return "it has the logs and the keys of the pinned kit"
    if kit_change(kit, pinned) is None:
        return "the pinned kit has its logs and keys, and is newer"
    raise Refused(f"against the pinned kit, {wrong}")


def _check_log(log: JsonObject, trust: Trust | None) -> str:
    if trust is None:
        raise Refused("a log has no origin")
    opened = trust.open_tree(text_of(log.get("checkpoint")))
    trust.check_witnesses(opened.cosignatures, 0)
    return f"{trust.origin}, {opened.tree.size} entries"


def _check_vector(i: int, vector: JsonObject, trust: Trust | None) -> str:
    if trust is None:
        raise Refused("the kit has no logs")
    proof = vector.get("tlog_proof")
    result = verify_receipt(vector.get("receipt"), trust, tlog_proof=proof if isinstance(proof, str) else None)
    if not same(result.valid, vector.get("expected")):
        raise Refused(f"{i} is {'true' if result.valid else 'false'}")
    return f"{i} is {'accepted' if result.valid else 'refused'}, as the kit says"


def _committed(kit: JsonObject, trust_for: Callable[[Json], Trust | None]) -> str:
    """An entry has the SHA-256 of the canonical form of the kit without its receipt (gateway/API.md section 2.2)."""
    receipt = kit.get("receipt")
    trust = trust_for(object_of(receipt).get("origin"))
    if trust is None:
        raise Refused("the kit has no receipt")
    result = verify_receipt(receipt, trust)
    failed = next((line for line in result.checks if line.outcome == "failed"), None)
    if failed is not None:
        raise Refused(f"{failed.name.replace('_', ' ')}: {failed.detail}")
    rest = {name: member for name, member in kit.items() if name != "receipt"}
    if object_of(result.statement).get("document_sha256") != sha256(canonical(rest)).hexdigest():
        raise Refused("the receipt is of another kit")
    return f"entry {result.index} of {trust.origin} commits to it"
