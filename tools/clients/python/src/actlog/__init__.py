"""Verifies what an actlog transparency log hands out, offline.

``check_document`` takes any document that ``recognise`` knows and returns a ``Finding``; ``verify_receipt`` and
``verify_absence`` check one type each. ``trust_from_kit`` makes a ``Trust`` of the offline kit of a service. The rules
are those of log/FORMAT.md and gateway/API.md sections 1 and 2 of the actlog repository.
"""

from .absence import AbsenceResult, Question, Unanswered, verify_absence
from .encoding import JsonInvalid, Refused, canonical, parse_json
from .findings import Document, Finding, Unanswerable, check_document, log_of, recognise
from .kits import check_kit, kit_change, origins_of, read_kit, trust_from_kit
from .notes import OpenedCheckpoint, TlogProof, TreeHead, open_checkpoint, parse_tlog_proof
from .receipts import Line, OpenedEntry, ReceiptResult, open_entry, verify_receipt
from .tree import check_consistency, check_inclusion, leaf_hash
from .trust import Policy, Trust, TrustedKey, parse_policy
from .violations import Undecided, ViolationResult, verify_violation

__all__ = [
    "AbsenceResult",
    "Document",
    "Finding",
    "JsonInvalid",
    "Line",
    "OpenedCheckpoint",
    "OpenedEntry",
    "Policy",
    "Question",
    "ReceiptResult",
    "Refused",
    "TlogProof",
    "TreeHead",
    "Trust",
    "TrustedKey",
    "Unanswerable",
    "Unanswered",
    "Undecided",
    "ViolationResult",
    "canonical",
    "check_consistency",
    "check_document",
    "check_inclusion",
    "check_kit",
    "kit_change",
    "leaf_hash",
    "log_of",
    "open_checkpoint",
    "open_entry",
    "origins_of",
    "parse_json",
    "parse_policy",
    "parse_tlog_proof",
    "read_kit",
    "recognise",
    "trust_from_kit",
    "verify_absence",
    "verify_receipt",
    "verify_violation",
]
