"""The bodies of the operations that have a method of their own (gateway/API.md section 14)."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class _Message(TypedDict):
    message: str


class ClassifyBody(_Message, total=False):
    domain: str
    session_id: str
    webhook_url: str
    entity: str | None
    surface: str
    event_at_ms: int


class _Act(TypedDict):
    action_type: str
    agent_id: str


class GateBody(_Act, total=False):
    scope: str
    timestamp_ms: int
    action_ref: str
    entity: str | None
    surface: str
    amount_atomic: int | str
    currency: str
    reversibility: str
    receipt: dict[str, Any]
    session_id: str
    message: str
    domain: str
    event_at_ms: int


class BindBody(TypedDict, total=False):
    payment_hash: str
    payment_response: str
    action_ref: str
    action_type: str
    agent_id: str
    amount_atomic: int | str
    currency: str
    domain: str
    entry_id: str
    scope: str
    seq: int
    session_id: str
    settlement_rail: str
    terminal: bool
    timestamp_ms: int
    entity: str | None
    surface: str
    event_at_ms: int


class _NotDone(TypedDict):
    action_not_taken: str
    decision_reason: str


class RestraintBody(_NotDone, total=False):
    capability_proof: Any
    opportunity_context: Any
    agent_id: str
    scope: str
    timestamp_ms: int
    session_id: str
    entity: str | None
    surface: str
    event_at_ms: int


class _Window(TypedDict):
    entity: str
    from_ms: int
    to_ms: int


class WitnessBody(_Window, total=False):
    surface: str
    surfaces: list[str]
    surface_manifest_hash: str
    gate: dict[str, Any]


LogKind = Literal["live", "sandbox"]
Verify = Literal["always", "never"]
