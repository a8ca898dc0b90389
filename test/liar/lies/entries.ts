// Lies about the text of an entry and the members that every entry has. log/FORMAT.md, notation and §2

import { keyOf } from '../bytes.ts';
import { OTHER, START_MS, Story, TENANT, uuid } from '../story.ts';
import { act, bad, bent, set, whole } from './lie.ts';
import type { Lie } from './lie.ts';

const JSON_RULES = ['entry_json', 'entry_canonical'];
const text = (rule: string | readonly string[], name: string, change: (text: string) => string) =>
  bent(rule, name, { text: change });

/** The order of the group, for a signature with S ≥ L. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

function malleable(signature: Buffer): string {
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + L;
  const high = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
  return Buffer.concat([signature.subarray(0, 32), high]).toString('base64');
}

const TEXT: readonly Lie[] = [
  bent('entry_json', 'bytes that are not UTF-8', {
    bytes: (bytes) =>
      Buffer.from(bytes.toString('latin1').replace('PERMIT', 'PERM\xff\xfe'), 'latin1'),
  }),
  text('entry_json', 'no JSON', (same) => same.slice(0, -1)),
  text(JSON_RULES, 'a member twice', (same) => same.replace('{', '{"case_id":"a","case_id":"b",')),
  text(JSON_RULES, 'a lone surrogate', (same) => same.replace('PERMIT', '\\ud800')),
  text(JSON_RULES, 'a byte order mark', (same) => `\ufeff${same}`),
  text(JSON_RULES, 'a fraction', (same) => same.replace('{', '{"amount":1.5,')),
  text(JSON_RULES, 'a number with an exponent', (same) => same.replace('"index":8', '"index":8e0')),
  text(JSON_RULES, 'minus zero', (same) => same.replace('{', '{"amount":-0,')),
  text(JSON_RULES, 'a number over 2^53 - 1', (same) =>
    same.replace('{', '{"amount":9007199254740993,'),
  ),
  text(JSON_RULES, 'text after the object', (same) => `${same} {}`),
  text(JSON_RULES, 'an array', (same) => `[${same}]`),
  set(JSON_RULES, 'a depth of 17', {
    detail: JSON.parse(`${'{"code":'.repeat(16)}1${'}'.repeat(16)}`),
  }),
  text('entry_canonical', 'white space', (same) => same.replace(',', ', ')),
  text('entry_canonical', 'a newline at the end', (same) => `${same}\n`),
  text('entry_canonical', 'an escape that is not needed', (same) =>
    same.replace('PERMIT', '\\u0050ERMIT'),
  ),
  text('entry_canonical', 'members in another order', (same) => {
    const [, index = ''] = /("index":\d+,)/.exec(same) ?? [];
    return same.replace(index, '').replace('{', `{${index}`);
  }),
  bent('signature_form', 'no signature', { signature: () => undefined }),
  bent('signature_form', 'a signature of 63 bytes', {
    signature: (raw) => raw.subarray(0, 63).toString('base64'),
  }),
  bent('signature_form', 'a signature without padding', {
    signature: (raw) => raw.toString('base64').replace(/=+$/, ''),
  }),
  bent('signature_form', 'a signature in base64url', {
    signature: (raw) => `-_${raw.toString('base64').slice(2)}`,
  }),
  bent('signature_form', 'a signature whose spare bits are not zero', {
    signature: (raw) => raw.toString('base64').replace(/.==$/, 'B=='),
  }),
  bent('signature_form', 'a signature that is a number', { signature: () => 7 }),
  bent('signature', 'a flipped bit in the signature', {
    signature: (raw) =>
      Buffer.from(raw.map((byte, i) => (i === 3 ? byte ^ 1 : byte))).toString('base64'),
  }),
  bent('signature', 'a signature with S over the order', { signature: malleable }),
  bent('signature', 'a signature of zeros', {
    signature: () => Buffer.alloc(64).toString('base64'),
  }),
  bent('signature', 'the signature of another key', { signer: keyOf(0x77) }),
  bent('signature', 'the signature of the checkpoint key', { signer: keyOf(0x12) }),
  text('signature', 'a member that was changed after signing', (same) =>
    same.replace('PERMIT', 'DENY'),
  ),
];

const MEMBERS: readonly Lie[] = [
  ...['entry_hash', 'permalink', 'verify_url', 'disclosures', 'log', 'ignored'].map((name) =>
    set('member_forbidden', `a member ${name}`, { [name]: 'x' }),
  ),
  set('type_form', 'a type in upper case', { type: 'demo.Act.v1' }),
  set('type_form', 'a type without a version', { type: 'demo.act' }),
  set('type_form', 'a type of version 0', { type: 'demo.act.v0' }),
  set('type_form', 'a type that is a number', { type: 1 }),
  set('type_form', 'no type', { type: undefined }),
  set('origin', 'the origin of another log', { origin: 'other.example/log/live/1' }),
  set('origin', 'the origin of the next log', { origin: 'liar.example/log/live/2' }),
  set('origin', 'no origin', { origin: undefined }),
  set('sandbox', 'sandbox in a live log', { sandbox: true }),
  set('sandbox', 'no sandbox', { sandbox: undefined }),
  set('sandbox', 'sandbox as text', { sandbox: 'false' }),
  whole(
    'sandbox',
    'live entries in a sandbox',
    () => {
      const story = new Story({ kind: 'sandbox' }).usual();
      return story.act({}, { set: { sandbox: false } }).mapHead();
    },
    { both: true },
  ),
  set('index', 'an index that was taken', { index: 7 }),
  set('index', 'an index that leaves one out', { index: 9 }),
  set('index', 'an index as text', { index: '8' }),
  set('index', 'no index', { index: undefined }),
  set('entry_id', 'a UUIDv4', { entry_id: uuid(START_MS + 8000, 8, '4') }),
  set('entry_id', 'a UUID of another variant', { entry_id: uuid(START_MS + 8000, 8, '7', 'c') }),
  set('entry_id', 'a UUID in upper case', { entry_id: uuid(START_MS + 8000, 8).toUpperCase() }),
  set('entry_id', 'a UUID of another time', { entry_id: uuid(START_MS + 8001, 8) }),
  set('entry_id', 'no entry_id', { entry_id: undefined }),
  bad(
    'entry_id_order',
    'a smaller entry_id',
    (story) => {
      story.act();
      story.act({}, { after_ms: 0, set: { entry_id: uuid(story.ms, 1) } });
    },
    { entries: [8, 9] },
  ),
  bad(
    'entry_id_order',
    'the same entry_id',
    (story) => {
      story.act();
      story.act({}, { after_ms: 0, set: { entry_id: uuid(story.ms, 8) } });
    },
    { entries: [8, 9] },
  ),
  set('issued_at_ms', 'a time as text', { issued_at_ms: String(START_MS + 8000) }),
  set('issued_at_ms', 'a time before 1970', { issued_at_ms: -1 }),
  set('issued_at_ms', 'a time over 48 bits', { issued_at_ms: 2 ** 48 }),
  set('issued_at_ms', 'no time', { issued_at_ms: undefined }),
  bad(
    'time_order',
    'a time before that of the entry before',
    (story) => {
      story.act().act({}, { after_ms: -1 });
    },
    { entries: [8, 9] },
  ),
  bad(
    'time_after_map_head',
    'the time of the map head',
    (story) => {
      story.act({}, { after_ms: 0 });
    },
    { entries: [7, 8] },
  ),
  bad(
    ['time_after_map_head', 'time_order'],
    'a time before the map head',
    (story) => {
      story.act({}, { after_ms: -1 });
    },
    { entries: [7, 8] },
  ),
  set('kid', 'the kid of an undeclared key', { kid: keyOf(0x77).kid }),
  set('kid', 'no kid', { kid: undefined }),
  set('kid', 'a kid whose spare bits are not zero', { kid: `${keyOf(0x11).kid.slice(0, -1)}B` }),
  bad(
    'kid',
    'a key that was retired',
    (story) => {
      const old = story.key;
      story.rotate(keyOf(0x31)).act({}, { set: { kid: old.kid }, signer: old });
    },
    { entries: [8, 10] },
  ),
  bad(
    'kid',
    'a key that was revoked',
    (story) => {
      const old = story.key;
      story.keyEntry(keyOf(0x31), 'active');
      story.key = keyOf(0x31);
      story.keyEntry(old, 'revoked').act({}, { set: { kid: old.kid }, signer: old });
    },
    { entries: [8, 10] },
  ),
  set('tenant_ref', 'a tenant_ref of 21 characters', { tenant_ref: TENANT.slice(1) }),
  set('tenant_ref', 'a tenant_ref that is null', { tenant_ref: null }),
  bad(['tenant_unknown', 'entity_owner'], 'an unregistered tenant', (story) => {
    story.act({ tenant_ref: OTHER });
  }),
  bad('tenant_unknown', 'a tenant that is registered later', (story) => {
    story.add('demo.act.v1', { tenant_ref: OTHER, outcome: 'DENY' }).tenant(OTHER);
  }),
  set('commitments', 'a commitment of 63 digits', { commitments: { note: 'a'.repeat(63) } }),
  set('commitments', 'a commitment in upper case', { commitments: { note: 'A'.repeat(64) } }),
  set('commitments', 'no commitment at all', { commitments: {} }),
  set('commitments', 'a list of commitments', { commitments: ['a'.repeat(64)] }),
  set('commitments', 'a name that is free text', { commitments: { 'a b': 'a'.repeat(64) } }),
  set('event_at_ms', 'an event longer ago than max_lag_ms', {
    event_at_ms: START_MS + 8000 - 86_400_001,
  }),
  set('event_at_ms', 'an event later than skew_ms', { event_at_ms: START_MS + 8000 + 60_001 }),
  set('event_at_ms', 'an event time as text', { event_at_ms: String(START_MS) }),
  set('toll', 'a toll without its price', { toll: 'gate' }),
  set('toll', 'a price without a toll', { toll_micro_usd: 1 }),
  set('toll', 'a price as text', { toll: 'gate', toll_micro_usd: '1' }),
  set('toll', 'a cleared price as text', {
    toll: 'gate',
    toll_micro_usd: 1,
    cleared_micro_usd: '1',
  }),
  set('toll', 'a toll that is free text', { toll: 'the gate', toll_micro_usd: 1 }),
  set('submitter', 'a submitter without a signature', { submitter: { alg: 'EdDSA', key: 'x' } }),
  set('submitter', 'a submitter with more members', {
    submitter: { alg: 'EdDSA', key: 'x', sig: 'y', note: 'z' },
  }),
  set('submitter', 'a submitter that is text', { submitter: 'x' }),
  act('clear_text', 'free text in a member of the schema', { case_id: 'Mr Smith of Leeds' }),
  act('clear_text', 'a member whose name is free text', { 'Mr Smith': 1 }),
  act('clear_text', 'text in a member that the schema does not name', { remark: 'declined' }),
  act('clear_text', 'free text deep within', { detail: { code: 'a b' } }),
];

export const ENTRY_LIES: readonly Lie[] = [...TEXT, ...MEMBERS];
