// What the routes of absence documents show as an example. log/FORMAT.md §6.

/** `schema` of an absence document. */
export const DOCUMENT = 'svc-absence-witness-v1';

const question = {
  key: ['surface', 'did:example:acme', 'policy_bind'],
  from_ms: 1_790_000_000_000,
  to_ms: 1_790_000_060_000,
};

/** A request to verify: well formed, and about a document of which the proofs are left out. */
export const VERIFY_EXAMPLE = {
  document: { schema: DOCUMENT, question, verdict: 'ABSENT' },
  question,
};
