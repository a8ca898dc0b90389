"""Opens webhook messages by the rules of Standard Webhooks (gateway/API.md section 11).

A message is signed with the webhook key of the service, as ``v1a`` (Ed25519), and with the secret of a subscription
that has one, as ``v1`` (HMAC-SHA-256). Delivery is at least once: remember ``webhook-id``.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256

from .ed25519 import public_key_of_jwk, verify
from .encoding import Json, JsonObject, Refused, object_of, objects_of

#: How many seconds the time of a message may differ from the clock: an older one is a replay.
TOLERANCE_S = 300


def webhook_keys(jwks: Mapping[str, Json]) -> list[bytes]:
    """The webhook keys of a JWKS (``/crypto/jwks.json``) or of an offline kit."""
    keys = jwks.get("keys")
    listed = objects_of(object_of(keys).get("keys") if isinstance(keys, dict) else keys)
    return [public_key_of_jwk(jwk) for jwk in listed if jwk.get("purpose") == "webhook" and "revoked_at" not in jwk]


def open_webhook(
    headers: Mapping[str, str],
    body: str | bytes,
    *,
    keys: Sequence[bytes] = (),
    secret: str | None = None,
    now_s: float | None = None,
) -> JsonObject:
    """The event of a message.

    :param body: the bytes as received
    :param keys: webhook keys of the service; ``v1a`` signatures are checked with them
    :param secret: the ``whsec_`` secret of the subscription; ``v1`` signatures are checked with it
    :raises Refused: when neither a key nor the secret has signed the message, or it is too old or too new
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, sent, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as error:
        raise Refused(f"the message has no header {error.args[0]}") from None
    if not (sent.isascii() and sent.isdigit()) or len(sent) > 12:
        raise Refused("webhook-timestamp is not a number of seconds")
    if abs((time.time() if now_s is None else now_s) - int(sent)) > TOLERANCE_S:
        raise Refused("the message is too old or too new")
    data = body.encode() if isinstance(body, str) else body
    signed = f"{message_id}.{sent}.".encode() + data
    expected = None if secret is None else hmac.new(_secret_bytes(secret), signed, sha256).digest()
    for one in signatures.split(" "):
        version, _, encoded = one.partition(",")
        try:
            signature = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            continue
        if version == "v1" and expected is not None and hmac.compare_digest(signature, expected):
            break
        if version == "v1a" and any(verify(key, signed, signature) for key in keys):
            break
    else:
        raise Refused("no signature of the message holds")
    event = json.loads(data)
    if not isinstance(event, dict):
        raise Refused("the message is not an object")
    return event


def _secret_bytes(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise Refused("the secret is not base64") from None
