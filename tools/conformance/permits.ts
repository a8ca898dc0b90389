// Where the runner gets valid receipts: from a gate, with a key of it, or from files.

import { readFile } from 'node:fs/promises';
import { fromUtf8, parseJson } from '../../log/verify.ts';
import type { Json, JsonObject } from '../../log/verify.ts';
import { presentedFrom } from '../../plugins/require-receipt/header.ts';
import type { Presented } from '../../plugins/require-receipt/header.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { ask, objectOr } from './ask.ts';

/** What a challenge asks for. */
export interface GateRequest {
  readonly action_type: string;
  readonly scope: string;
}

/** Gives a valid receipt for what a challenge asks; a string says why there is none. */
export type PermitSource = (wanted: GateRequest) => Promise<Presented | string>;

/** Asks a gate. The key goes nowhere else. */
export function gateSource(gate: string, key: string, agent_id: string): PermitSource {
  const url = new URL('/api/v1/execute-gate', gate);
  return async ({ action_type, scope }) => {
    const { status, json } = await ask(url, {
      method: 'POST',
      headers: { 'x-api-key': key, prefer: 'wait=30' },
      body: { action_type, scope, agent_id, reversibility: 'irreversible' },
    });
    const answer = objectOr(json);
    const { outcome, reasons = [], error } = answer;
    if (status !== 200)
      return `the gate answers ${String(status)}: ${JSON.stringify(error ?? null)}`;
    if (outcome !== 'PERMIT') {
      const why = `${JSON.stringify(outcome)} ${JSON.stringify(reasons)}`;
      return `the gate answers ${why}: put a policy that allows ${action_type} (POST ${url.pathname}/policy)`;
    }
    return presentedOf(answer) ?? 'the gate permits, without a receipt or a preimage';
  };
}

/** Reads receipts from files, each good for one use, in their order. */
export async function fileSource(paths: readonly string[]): Promise<PermitSource> {
  const receipts: Presented[] = [];
  for (const path of paths) {
    const value = parseJson(fromUtf8(await readFile(path)), { fractions: true, maxDepth: 32 });
    const presented = presentedOf(objectOr(value));
    if (presented === null) throw new CommandError(`${path} holds no receipt`, EXIT.unknown);
    receipts.push(presented);
  }
  return async () => receipts.shift() ?? 'there is no other receipt';
}

/** What an agent would present of a gate's answer: the receipt without its disclosures, the preimage and the use secret. */
function presentedOf(answer: JsonObject): Presented | null {
  const { receipt = answer, preimage, use_secret, tlog_proof } = answer;
  const envelope: Record<string, Json> = { receipt };
  if (preimage !== undefined) envelope['preimage'] = preimage;
  if (use_secret !== undefined) envelope['use_secret'] = use_secret;
  if (tlog_proof !== undefined) envelope['tlog_proof'] = tlog_proof;
  const presented = presentedFrom(envelope);
  if (presented === null) return null;
  const { disclosures: _, ...bare } = presented.receipt;
  return { ...presented, receipt: bare };
}
