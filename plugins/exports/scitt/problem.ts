// Errors of the SCITT reference API: concise problem details in CBOR. RFC 9290; draft-ietf-scitt-scrapi §2.

import { encodeCbor } from '../../../log/index.ts';
import type { RouteProblem } from '../../contract.ts';

/** Media type of a problem. */
export const PROBLEM_TYPE = 'application/concise-problem-details+cbor';

const TITLE = -1;
const DETAIL = -2;

/** Titles that the reference API names, by the part of the statement that is wrong. */
const TITLES: Readonly<Record<string, string>> = {
  alg: 'Bad Signature Algorithm',
  payload: 'Payload Missing',
  kid: 'No Such Key',
  entry_id: 'Not Found',
};

/** The problem as it goes out; the code of the error stands under its own name. */
export function conciseProblem({ status, code, message, param, request_id }: RouteProblem): {
  type: string;
  body: Uint8Array;
} {
  const title = TITLES[param ?? ''] ?? (status < 500 ? 'Rejected' : 'Internal Server Error');
  const problem = new Map<number | string, string>([
    [TITLE, title],
    [DETAIL, message],
    ['code', code],
    ['request_id', request_id],
  ]);
  if (param !== undefined) problem.set('param', param);
  return { type: PROBLEM_TYPE, body: encodeCbor(problem) };
}
