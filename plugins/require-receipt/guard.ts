// The guard in front of an act: the challenge when there is no permit, the checks when there is one, and its one
// use. No framework, no node:*, nothing of the rest of actlog. gateway/API.md §4.1, §8.2.

import { parsePolicy, parseVkey, portable } from '../../log/verify.ts';
import type { Json, JsonObject } from '../../log/verify.ts';
import { actionOf } from './action.ts';
import type { Action } from './action.ts';
import { challenged, notHolder, unavailable, used } from './answers.ts';
import type { GuardAnswer } from './answers.ts';
import { PROOF_HEADER } from './challenge.ts';
import { readHeader } from './header.ts';
import { checkDeclared, manifestOf } from './manifest.ts';
import type { DeclaredAction } from './manifest.ts';
import { claimedKid, claimedOrigin, verifyPermit } from './permit.ts';
import type { Permit, Refused } from './permit.ts';
import { checkOptions, option } from './options.ts';
import type { GuardOptions } from './options.ts';
import { memoryReplayStore } from './replay.ts';
import { isLogKeysMissing, keysOfLog, trustedKeys } from './trusted-keys.ts';
import type { LogKeys } from './trusted-keys.ts';

/** A request as the guard sees it. */
export interface GuardedRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The value of X-Receipt. */
  readonly receipt: string | undefined;
  /** What of the body the permit binds; undefined where there is none. */
  readonly fields: Json | undefined;
}

/** The act may go on under this permit, or the request ends with this answer. */
export type Admission = { readonly permit: Permit } | { readonly answer: GuardAnswer };

/** Guards the acts of one service. */
export interface Guard {
  /** Declares an action and returns what admits its requests. */
  protect(declared: DeclaredAction): (request: GuardedRequest) => Promise<Admission>;
  /** What to serve at `/.well-known/agent-actions.json`: every action that is protected by now. */
  manifest(): JsonObject;
  /** See `ReceiptRequirement`. */
  ready(): Promise<void>;
}

/** A guard; throws a TypeError for options that could not hold. */
export function guardOf(options: GuardOptions): Guard {
  checkOptions(options);
  const { log, audience, tenants, service, replay = memoryReplayStore(), now = Date.now } = options;
  const { policy: text } = options;
  const policy =
    text === undefined ? {} : { policy: option('policy', () => parsePolicy(portable, text)) };
  const logs = (typeof log === 'string' ? [log] : log).map((vkey) => ({
    origin: option('log', () => parseVkey(portable, vkey).name),
    vkey,
    ...policy,
  }));
  const [newest] = logs;
  if (newest === undefined) throw new TypeError('log names no verifier key');
  const { jwks } = options;
  const keys = option('jwks', () => {
    // A document never changes: a log that it lacks would be refused for ever.
    if (!(typeof jwks === 'string' || jwks instanceof URL)) {
      for (const { origin } of logs) keysOfLog(jwks, origin);
    }
    return trustedKeys(jwks, options);
  });
  const shown = {
    issuers: logs.map(({ origin }) => ({ origin, tenants })),
    ...(options.gate === undefined ? {} : { gate: options.gate }),
    ...(service?.spec === undefined ? {} : { learn_more: service.spec }),
  };
  const admit = async (action: Action, receipt: string | undefined): Promise<Admission> => {
    const challenge = { action, ...shown };
    if (receipt === undefined || receipt === '') return { answer: challenged(challenge) };
    const refusedFor = ({ refused, message }: Omit<Refused, 'ok'>): Admission => ({
      answer: challenged({ ...challenge, refused }, message),
    });
    const presented = readHeader(receipt);
    if (presented === null) {
      const message = `${PROOF_HEADER} is not base64url of a receipt`;
      return refusedFor({ refused: 'receipt_malformed', message });
    }
    const claimed = claimedOrigin(presented);
    const pinned = logs.find(({ origin }) => origin === claimed) ?? newest;
    let known: LogKeys;
    try {
      known = await keys.of(pinned.origin, claimedKid(presented));
    } catch (error) {
      const missing = isLogKeysMissing(error);
      const reason = missing
        ? `the service has a JWKS without a receipt key of ${pinned.origin}, the log that it pins`
        : 'the keys of the log cannot be fetched';
      return { answer: unavailable(reason) };
    }
    const checked = verifyPermit(presented, action, { ...pinned, ...known, tenants }, now());
    if (!checked.ok) {
      const { refused, message } = checked;
      return refused === 'use_secret_invalid'
        ? { answer: notHolder(message) }
        : refusedFor(checked);
    }
    const { permit } = checked;
    try {
      const first = await replay.use(permit.id, permit.expires_at_ms, permit);
      return first ? { permit } : { answer: used() };
    } catch {
      return { answer: unavailable('the guard cannot find out whether the receipt was used') };
    }
  };
  const declared: DeclaredAction[] = [];
  return {
    protect(action) {
      checkDeclared(action);
      if (declared.some(({ id }) => id === action.id))
        throw new Error(`${action.id} is there twice`);
      declared.push(action);
      const { action_type } = action;
      return ({ method, target, receipt, fields }) => {
        const bound = fields === undefined ? {} : { fields };
        return admit(actionOf({ audience, action_type, method, target, ...bound }), receipt);
      };
    },
    manifest() {
      const issuer = logs.map(({ origin }) => origin).join(' ');
      return manifestOf({ issuer, name: 'service', ...service }, declared);
    },
    async ready() {
      await Promise.all(logs.map(({ origin }) => keys.of(origin)));
    },
  };
}
