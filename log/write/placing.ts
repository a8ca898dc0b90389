// Places drafts: fixes the index, time, id, links and key of each. All rules that may refuse a group are checked here,
// before anything is signed; the state is then rolled back, and nothing of the group is written.

import { checkCommitmentName, checkOwnMembers, checkPlain, checkToll } from '../rules/admission.ts';
import { thumbprint } from '../crypto/thumbprint.ts';
import { native } from '../crypto/native.ts';
import type { Core } from './core.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { entryId, nextSeq } from './clock.ts';
import { LogError } from '../errors.ts';
import { chainKeys, skey } from '../map/key.ts';
import { isBuiltin } from '../map/grammar.ts';
import { admit, project } from './projection.ts';
import {
  commit,
  MAX_ENTRY_BYTES,
  signedBytes,
  statementText,
  type StatementText,
} from './statement.ts';
import { checkBuiltin, FORMAT } from '../rules/builtin.ts';
import { COMMON_MEMBERS } from '../rules/declaration.ts';
import { applySurfaces, checkSurfaces } from '../rules/surfaces.ts';
import { floorAfter } from './state.ts';
import type { Disclosure, Draft, Link, Sequenced } from '../types.ts';

/** `,"signature":"<88 characters>"` */
const SIGNATURE_MEMBER_BYTES = 103;

/** A chain that a placed entry extends. */
export interface Moved {
  readonly skey: Uint8Array;
  readonly id: string;
  readonly link: Link;
}

/** A placed entry that is not signed yet. */
export interface Placed {
  readonly sequenced: Sequenced;
  readonly text: StatementText;
  /** The bytes to sign. */
  readonly signed: Uint8Array;
  readonly kid: string;
  readonly moved: readonly Moved[];
  readonly disclosures: Readonly<Record<string, Disclosure>>;
}

/**
 * Places one draft in the current round, after all entries that were placed before.
 *
 * @throws LogError of the rule that the draft breaks; the caller rolls back its group
 */
export function place(
  core: Core,
  draft: Draft,
  group: readonly Sequenced[],
  round: number,
): Placed {
  const { position, declarations } = core;
  if (position.closed && draft.type !== 'log.map_head.v1') {
    throw new LogError('log_closed', 'the log is closed; only its successor takes entries');
  }
  const ms = core.clock.next(floorAfter(position));
  const seq = nextSeq(ms, position.last_ms, position.last_seq);
  const index = position.size;
  const entry_id = entryId(ms, seq);
  const builtin = isBuiltin(draft.type);
  const declared = builtin ? undefined : declarations.of(draft.type);

  const members =
    typeof draft.members === 'function'
      ? draft.members({
          index,
          entry_id,
          issued_at_ms: ms,
          group,
          rows: core.pluginRows,
          surfaces: core.surfaces.reader,
        })
      : draft.members;
  for (const name of Object.keys(members)) {
    if (COMMON_MEMBERS.has(name)) {
      throw new LogError('entry_invalid', `member ${name} is set by the log`);
    }
  }

  const kid =
    draft.type === 'log.open.v1' ? thumbprint(native, members['jwk']) : core.keys.inForce()?.kid;
  if (kid === undefined) throw new LogError('log_unavailable', 'no receipt key is in force');
  const { commitments, disclosures } = commitAll(draft.private);
  const statement: Record<string, Json> = {
    type: draft.type,
    origin: core.origin,
    entry_id,
    index,
    issued_at_ms: ms,
    kid,
    sandbox: core.kind === 'sandbox',
    ...tenantMember(core, draft),
    ...(commitments === null ? {} : { commitments }),
    ...eventTime(draft, ms),
    ...tollMembers(draft),
    ...members,
  };

  if (declared === undefined) {
    checkBuiltin(statement);
    if (draft.type === 'log.entry_type.v1') {
      checkPlain(members);
      declarations.check(members);
    }
  } else {
    checkOwnMembers(members, declared.clearText);
    if (!declared.validate(members)) {
      const [first] = declared.validate.errors ?? [];
      throw new LogError(
        'entry_invalid',
        `${draft.type} breaks its schema: ${first?.instancePath ?? ''} ${first?.message ?? ''}`,
      );
    }
  }
  checkSurfaces(statement, core.surfaces.reader);

  const { links, moved } = linksOf(core, statement, declared?.keys ?? [], index, ms, round);
  if (links.length > 0) statement['links'] = links as unknown as Json;
  const text = statementText(statement, links);
  const signed = signedBytes(text);
  const bytes = signed.length + SIGNATURE_MEMBER_BYTES;
  if (bytes > MAX_ENTRY_BYTES) {
    throw new LogError(
      'entry_too_large',
      `entry is ${String(bytes)} bytes, the limit is ${String(MAX_ENTRY_BYTES)}`,
    );
  }

  const sequenced: Sequenced = {
    index,
    entry_id,
    issued_at_ms: ms,
    type: draft.type,
    statement,
    links,
  };
  admit(core, sequenced);
  core.position = {
    size: index + 1,
    last_ms: ms,
    last_seq: seq,
    map_head: draft.type === 'log.map_head.v1' ? { index, ms } : position.map_head,
    closed: position.closed || draft.type === 'log.closed.v1',
  };
  applyCore(core, sequenced, round);
  project(core, sequenced, round);
  return { sequenced, text, signed, kid, moved, disclosures };
}

/** Applies a built-in entry to the core. Also run for entries that are restored from a mirror. */
export function applyCore(core: Core, entry: Sequenced, round: number): void {
  const { statement, type } = entry;
  core.surfaces.round = round;
  applySurfaces(statement, entry.index, core.surfaces);
  switch (type) {
    case 'log.open.v1':
      core.keys.apply(statement, statement['kid'] as string, round);
      break;
    case 'log.key.v1':
      core.keys.apply(statement, thumbprint(native, statement['key']), round);
      break;
    case 'log.tenant.v1':
      core.coreRows.set(`tenant/${statement['tenant_ref'] as string}`, entry.index, round);
      break;
    case 'log.entry_type.v1':
      core.coreRows.set(`type/${statement['name'] as string}`, entry.index, round);
      core.declarations.apply(statement);
      break;
  }
}

function commitAll(values: Draft['private']): {
  commitments: JsonObject | null;
  disclosures: Readonly<Record<string, Disclosure>>;
} {
  if (values === undefined) return { commitments: null, disclosures: {} };
  const commitments: Record<string, string> = {};
  const disclosures: Record<string, Disclosure> = {};
  // In the order of canonical JSON, in which the statement has them.
  for (const member of Object.keys(values).sort()) {
    checkCommitmentName(member);
    const { commitment, disclosure } = commit(values[member] ?? null);
    commitments[member] = commitment;
    disclosures[member] = disclosure;
  }
  return { commitments: Object.keys(commitments).length === 0 ? null : commitments, disclosures };
}

function tenantMember(core: Core, { tenant_ref, type }: Draft): JsonObject {
  if (tenant_ref === undefined) return {};
  if (type !== 'log.tenant.v1' && !core.tenants.has(tenant_ref)) {
    throw new LogError('tenant_unknown', 'the tenant is not registered in this log');
  }
  return { tenant_ref };
}

function eventTime({ event_at_ms }: Draft, ms: number): JsonObject {
  if (event_at_ms === undefined) return {};
  const { max_lag_ms, skew_ms } = FORMAT;
  if (!(event_at_ms >= ms - max_lag_ms && event_at_ms <= ms + skew_ms)) {
    throw new LogError(
      'event_time_out_of_range',
      `event_at_ms is ${String(event_at_ms - ms)} ms from the log's time, the limits are -${String(max_lag_ms)} and ${String(skew_ms)}`,
    );
  }
  if (!Number.isSafeInteger(event_at_ms)) {
    throw new LogError('entry_invalid', 'event_at_ms is not an integer');
  }
  return { event_at_ms };
}

function tollMembers({ toll }: Draft): JsonObject {
  if (toll === undefined) return {};
  checkToll(toll);
  const { id, micro_usd, cleared_micro_usd } = toll;
  return {
    toll: id,
    toll_micro_usd: micro_usd,
    ...(cleared_micro_usd === undefined ? {} : { cleared_micro_usd }),
  };
}

function linksOf(
  core: Core,
  statement: JsonObject,
  templates: readonly (readonly string[])[],
  index: number,
  ms: number,
  round: number,
): { links: Link[]; moved: Moved[] } {
  const links: Link[] = [];
  const moved: Moved[] = [];
  for (const key of chainKeys(statement, templates)) {
    const place = skey(native, core.origin, key);
    const id = Buffer.from(place.buffer, place.byteOffset, 32).toString('latin1');
    const head = core.head(id, place);
    const seq = head?.count ?? 0;
    const link = { key, seq, prev_index: head?.last_index ?? null, prev_ms: head?.last_ms ?? null };
    links.push(link);
    core.heads.set(id, { count: seq + 1, last_index: index, last_ms: ms }, round);
    moved.push({ skey: place, id, link });
  }
  return { links, moved };
}
