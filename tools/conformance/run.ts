// The five checks of RR-1 against any service, in their order: each needs the one before. gateway/API.md §8.2.

import type { Json } from '../../log/index.ts';
import { MANIFEST_PATH, parseChallenge } from '../../plugins/require-receipt/challenge.ts';
import { CHECKS } from '../../plugins/require-receipt/entries.ts';
import type { CheckId } from '../../plugins/require-receipt/entries.ts';
import { encodePresented } from '../../plugins/require-receipt/header.ts';
import type { Presented } from '../../plugins/require-receipt/header.ts';
import { forgeriesOf } from './forgeries.ts';
import { faultOf, triedOf } from './manifest.ts';
import type { Tried } from './manifest.ts';
import type { GateRequest, PermitSource } from './permits.ts';
import { ask, objectOr } from './ask.ts';
import type { Told } from './ask.ts';

/** What came of one check. */
export interface Checked {
  readonly name: CheckId;
  readonly outcome: 'passed' | 'failed' | 'not_run';
  readonly detail: string;
}

/** What is run. */
export interface RunOptions {
  /** Where the service is; the manifest is at its well-known path there. */
  readonly url: URL;
  /** Null where there is none: then three of the checks cannot run. */
  readonly permits: PermitSource | null;
  /** Id of the action to try; the first that needs a receipt unless given. */
  readonly action?: string;
  /** Path to ask, where that of the manifest is a template. */
  readonly path?: string;
  /** Body to send; the example of the manifest unless given. */
  readonly body?: Json;
  /** Headers that the service needs of every caller. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What came of a run. */
export interface Conformance {
  readonly url: string;
  readonly conformant: boolean;
  readonly checked_at: string;
  /** The action that was tried. */
  readonly action: string | null;
  readonly checks: readonly Checked[];
}

/**
 * Runs the checks. The act is done once when the service conforms; by one that does not it may be done more often.
 *
 * @throws CommandError (exit 2) when the service does not answer at all
 */
export async function runConformance(options: RunOptions): Promise<Conformance> {
  const checks: Checked[] = [];
  const note = (name: CheckId, outcome: Checked['outcome'], detail: string): void => {
    checks.push({ name, outcome, detail });
  };
  const manifest = await ask(new URL(MANIFEST_PATH, options.url), { method: 'GET' });
  const fault =
    manifest.status === 200 ? faultOf(manifest.json) : `status ${String(manifest.status)}`;
  const tried =
    fault === null && manifest.json !== undefined ? triedOf(manifest.json, options.action) : null;
  if (tried === null) note('manifest_valid', 'failed', fault ?? 'no JSON');
  else {
    note('manifest_valid', 'passed', `${tried.method} ${tried.path} needs a receipt (${tried.id})`);
    await runAct(tried, options, note);
  }
  for (const name of CHECKS.slice(checks.length)) note(name, 'not_run', 'the check before failed');
  return {
    url: options.url.href,
    conformant: checks.every(({ outcome }) => outcome === 'passed'),
    checked_at: new Date().toISOString(),
    action: tried?.id ?? null,
    checks,
  };
}

type Note = (name: CheckId, outcome: Checked['outcome'], detail: string) => void;

async function runAct(tried: Tried, options: RunOptions, note: Note): Promise<void> {
  const { headers = {}, path = tried.path, body = tried.example } = options;
  const url = new URL(path, options.url);
  const act = (presented?: Presented): Promise<Told> => {
    const proof =
      presented === undefined ? {} : { [tried.proof_header]: encodePresented(presented) };
    const { method } = tried;
    return ask(url, {
      method,
      headers: { ...headers, ...proof },
      ...(body === undefined ? {} : { body }),
    });
  };
  const wanted = challengeOf(await act(), tried);
  if (typeof wanted === 'string') {
    note('challenge_on_missing', 'failed', wanted);
    return;
  }
  note('challenge_on_missing', 'passed', `428, ${wanted.scope}`);
  const { permits } = options;
  const permit =
    permits === null ? 'no receipt: give --gate and --key, or --receipt' : await permits(wanted);
  if (permits === null || typeof permit === 'string') {
    const why = typeof permit === 'string' ? permit : '';
    for (const name of CHECKS.slice(2)) note(name, 'not_run', why);
    return;
  }
  const done = await act(permit);
  if (done.status < 200 || done.status > 299) {
    note('runs_on_valid', 'failed', `${saying(done)} to a valid receipt`);
    return;
  }
  note('runs_on_valid', 'passed', `status ${String(done.status)}`);
  const again = await act(permit);
  note(
    'replay_refused',
    isRefusal(again) ? 'passed' : 'failed',
    `${saying(again)} to the same receipt`,
  );
  // A fresh one where there is one: that it is unused leaves nothing to refuse it for but the forgery.
  const fresh = await permits(wanted);
  const forgeries = forgeriesOf(typeof fresh === 'string' ? permit : fresh);
  const taken: string[] = [];
  for (const [what, forged] of forgeries) {
    const answer = await act(forged);
    if (!isRefusal(answer)) taken.push(`${saying(answer)} to ${what}`);
  }
  const all = [...forgeries.keys()].join(', ');
  if (taken.length > 0) note('forged_refused', 'failed', taken.join('; '));
  else note('forged_refused', 'passed', `refused: ${all}`);
}

/** What a challenge asks for, or what is wrong with it. */
function challengeOf({ status, headers, json }: Told, tried: Tried): GateRequest | string {
  if (status !== 428) return `status ${String(status)} without a receipt, not 428`;
  const value = headers.get(tried.challenge_header);
  if (value === null) return `no header ${tried.challenge_header}`;
  const parameters = parseChallenge(value);
  if (parameters === null) return `${tried.challenge_header} is malformed`;
  const { action, action_hash } = parameters;
  if (action !== tried.action_type)
    return `the challenge is of ${String(action)}, not of ${tried.action_type}`;
  const cache = headers.get('cache-control') ?? '';
  if (!/(^|[\s,])no-store([\s,]|$)/iu.test(cache)) return 'the challenge may be stored by caches';
  const { required } = objectOr(json);
  if (required === undefined) return 'the body has no required';
  if (action_hash === undefined) return 'the challenge names no action_hash';
  const repeated = objectOr(required)['action_hash'];
  if (repeated !== undefined && repeated !== action_hash)
    return 'header and body ask for different actions';
  return { action_type: action, scope: action_hash };
}

/** A refusal is an answer to the caller; a 5xx is an accident. */
const isRefusal = ({ status }: Told): boolean => status >= 400 && status <= 499;

function saying({ status, json }: Told): string {
  const error = objectOr(objectOr(json)['error']);
  const code = typeof error['code'] === 'string' ? ` ${error['code']}` : '';
  return `status ${String(status)}${code}`;
}
