// An exchange as it is sealed and as its seal is shown. gateway/API.md §10.8.

import { randomBytes } from 'node:crypto';
import { canonical } from '../../../log/index.ts';
import { ApiError } from '../../contract.ts';
import type { AnsweredEntry, Caller, Draft, Json, JsonObject, PluginHost } from '../../contract.ts';
import { DOES_NOT_ASSERT, SEAL, sessionWith } from './entries.ts';
import type { Outcome } from './entries.ts';
import { rootOf, sealed } from './session-tree.ts';
import type { Exchange } from './upstream.ts';

/** What is sealed of a request. */
export interface Sealing {
  readonly caller: Caller;
  readonly session_id: string | undefined;
  readonly model: string;
  readonly source: 'upstream' | 'caller';
  readonly streamed: boolean;
  readonly request: JsonObject;
  readonly exchange: Exchange;
}

const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$/u;

/** A seal, ready to be appended. */
export function sealDraft(host: PluginHost, sealing: Sealing): Draft {
  const { caller, session_id, model, source, streamed, request, exchange } = sealing;
  const { outcome, status } = exchange;
  const response = holdable(exchange.response);
  const [request_salt, response_salt] = [salt(), salt()];
  const request_hash = sealed(request_salt, request);
  const response_hash = sealed(response_salt, response);
  const session_ref = session_id === undefined ? undefined : caller.sessionRef(session_id);
  const named = IDENTIFIER.test(model);
  return {
    type: SEAL,
    members({ rows }): JsonObject {
      const tree = sessionWith(rows, session_ref, { request_hash, response_hash, outcome });
      return {
        ...(session_ref === undefined ? {} : { session_ref }),
        ...{ source, model: named ? model : 'other', streamed, outcome },
        ...(status === undefined ? {} : { upstream_status: status }),
        ...{ request_hash, response_hash, session_size: tree.size, session_root: rootOf(tree) },
        does_not_assert: Object.keys(DOES_NOT_ASSERT),
      };
    },
    private: { exchange: { request, request_salt, response, response_salt } },
    toll: host.toll('inference_seal'),
  };
}

const salt = (): string => randomBytes(16).toString('hex');

/** What canonical JSON cannot hold (a lone surrogate, say) is sealed by its text. */
function holdable(response: Json): Json {
  try {
    canonical(response);
    return response;
  } catch {
    return { unheld: Buffer.from(JSON.stringify(response)).toString('base64') };
  }
}

/** What an answer shows of a seal, with the receipt. */
export function proofOf({ statement, entry_id, receipt }: AnsweredEntry): JsonObject {
  const { session_root = '', session_size = 0, outcome = '' } = statement;
  const { request_hash = '', response_hash = '' } = statement;
  const proof = {
    ...{ entry_id, session_root, session_size, outcome, request_hash, response_hash },
    verify_url: receipt.verify_url,
  };
  return { proof, receipt };
}

/** Statuses by which the upstream says that the request is at fault. */
const CALLERS_FAULT: readonly number[] = [400, 404, 413, 415, 422];

const ENDINGS: Readonly<Record<Exclude<Outcome, 'completed'>, string>> = {
  refused: 'the upstream refused the request',
  unreachable: 'the upstream could not be reached',
  timed_out: 'the upstream was silent for too long',
  interrupted: 'the upstream broke off its answer',
  garbled: 'the upstream answered something that is no completion',
  oversized: 'the upstream answered more than is passed on',
  client_gone: 'the client left before the answer was whole',
};

/** The error of an exchange that is no answer; its seal stands beside it. */
export function failureOf(
  outcome: Exclude<Outcome, 'completed'>,
  status: number | undefined,
  retry_after: string | undefined,
  shown: JsonObject,
): ApiError {
  // The receipt discloses what the upstream said, which an error never shows: its own tenant looks it up.
  const members = { proof: shown['proof'] };
  const ending = ENDINGS[outcome];
  if (outcome !== 'refused' || status === undefined) {
    return new ApiError('upstream_error', ending, { members });
  }
  const message = `${ending} with status ${String(status)}`;
  if (status === 429) {
    const seconds = /^\d{1,6}$/.test(retry_after ?? '') ? String(retry_after) : '1';
    return new ApiError('rate_limited', message, { members, headers: { 'Retry-After': seconds } });
  }
  const code = CALLERS_FAULT.includes(status) ? 'parameter_invalid' : 'upstream_error';
  return new ApiError(code, message, { members });
}
