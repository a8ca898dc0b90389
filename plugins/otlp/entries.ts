// The entry of a GenAI span that a tenant reported. gateway/API.md §12.6; log/FORMAT.md §2.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  EntityName,
  Millis,
  ofEntity,
  SafeCount,
  sentenceOf,
  SessionRef,
} from '../contract/index.ts';
import type { EntryType } from '../contract/index.ts';

/** Name of the entry type. */
export const SPAN = 'otlp.span.v1';

/** Values of `gen_ai.operation.name`, `mcp` for an MCP span without one, and `other` for the rest. */
export const OPERATIONS = [
  ...(['chat', 'generate_content', 'text_completion', 'embeddings', 'retrieval'] as const),
  ...(['execute_tool', 'create_agent', 'invoke_agent', 'invoke_workflow', 'plan'] as const),
  ...(['mcp', 'other'] as const),
] as const;

/** Codes of a span's status, by their number. */
export const STATUSES = ['unset', 'ok', 'error'] as const;

/** `does_not_assert`: the identifiers in the entry, and what they mean. */
export const DOES_NOT_ASSERT = {
  act_happened: 'that what the span reports happened: the tenant reports it afterwards',
  spans_complete: 'that no other span was dropped, sampled away or never made',
} as const;

const ReportedMembers = {
  operation: Type.Enum([...OPERATIONS]),
  status: Type.Enum([...STATUSES]),
  start_ms: { ...Millis, description: 'Start of the span, as reported.' },
  end_ms: { ...Millis, description: 'End of the span, as reported.' },
  input_tokens: Type.Optional({ ...SafeCount, description: 'Tokens of the input, as reported.' }),
  output_tokens: Type.Optional({ ...SafeCount, description: 'Tokens of the output, as reported.' }),
};

const SpanMembers = Type.Object(
  {
    ...ReportedMembers,
    does_not_assert: Type.Array(Type.Enum(Object.keys(DOES_NOT_ASSERT))),
    session_ref: SessionRef,
    entity: Type.Optional(EntityName),
    span_ref: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'A pseudonym of the span, by which it is found when it is sent again.',
    }),
  },
  { additionalProperties: false },
);

/** What a span reports in clear: numbers and listed words. */
export type Reported = Omit<
  Static<typeof SpanMembers>,
  'does_not_assert' | 'session_ref' | 'entity' | 'span_ref'
>;

/** The row of a span, relative to the plugin. */
export const seenRow = (tenant_ref: string, span_ref: string): string =>
  `seen/${tenant_ref}/${span_ref}`;

/** `otlp.span.v1`. Names, ids, models, messages, arguments and results are commitments. */
export const spanType: EntryType = {
  name: SPAN,
  schema: asSchema(SpanMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof SpanMembers>>(
    (span) =>
      `The tenant reported a span${ofEntity(span)} of the operation ${span.operation} with the status ${span.status}.`,
  ),
  project({ index, statement }, rows) {
    const { tenant_ref, span_ref } = statement as { tenant_ref: string; span_ref: string };
    rows.put(`otlp/${seenRow(tenant_ref, span_ref)}`, index);
  },
};
