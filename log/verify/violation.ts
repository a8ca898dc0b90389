// The verifier of findings of monitors and witnesses (log/FORMAT.md §7.1): recomputes from the signed objects in a
// document that the log broke a rule. Keys come from the trust, and never from the document.

import type { Suite } from '../crypto/suite.ts';
import { fromBase64, fromHex, utf8 } from '../encoding/bytes.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { checkConsistency, checkInclusion } from '../merkle/check.ts';
import { leafHash } from '../merkle/hash.ts';
import { openNote, parseVkey } from '../note/note.ts';
import { count, exactObject, hash, list, path, refused, string, strings } from './document.ts';
import type { TreeHead } from './entry.ts';
import { Lines, memberOf, parsedOf, suiteOf, Unanswerable } from './finding.ts';
import type { Asked, Finding, Verifier } from './finding.ts';
import { openTree } from './trust.ts';
import type { Trust } from './trust.ts';
import { originParts } from '../map/grammar.ts';
import { STRANGE_LOG } from './recognise.ts';
import { brokenBy, MAX_ENTRIES } from './violation-evidence.ts';
import type { Claim, KnownLog, Proven, Rule, Shown } from './violation-evidence.ts';
import { RULES } from './violation-rules.ts';

const REQUIRED = [
  'schema',
  'origin',
  'vkey',
  'rule',
  'detail',
  'proof',
  'found_at_ms',
  'notes',
  'entries',
];
const OPTIONAL = ['consistency', 'vkeys', 'tile', 'withheld', 'clock_ms'];
const MAX_NOTES = 2;
const MAX_WITHHELD = 100_000;
/** Twice the longest inclusion path is more than any consistency path has. */
const MAX_CONSISTENCY = 106;
const RULE = /^[a-z][a-z_]{0,39}$/u;

/** Findings of monitors and witnesses. */
export const violationVerifier: Verifier = {
  kind: 'violation',
  title: 'a finding of a monitor or witness',
  schemas: ['actlog-violation-v1'],
  originOf: (document) => memberOf(parsedOf(document), 'origin'),
  check: (document, trust, asked) => checkViolation(parsedOf(document), trust, asked),
};

async function checkViolation(document: JsonObject, trust: Trust, asked: Asked): Promise<Finding> {
  const suite = suiteOf(asked);
  const lines = new Lines();
  const facts = { rule: memberOf(document, 'rule'), origin: trust.origin };
  const failed = (): Finding => lines.finding('', { facts });
  const claim = await lines.take('form', () => {
    const read = readClaim(suite, trust, document);
    return [`a finding of the rule ${read.rule}`, read];
  });
  if (claim === undefined) return failed();
  const rule = Object.hasOwn(RULES, claim.rule) ? RULES[claim.rule] : undefined;
  const trees: TreeHead[] = [];
  for (const [i, note] of claim.notes.entries()) {
    const log = claim.logs[i] ?? trust;
    const tree = await lines.take('checkpoint', () => openSigned(suite, log, note, rule));
    if (tree === undefined) return failed();
    trees.push(tree);
  }
  const proven = { ...claim, suite, trust, trees };
  const { consistency } = claim;
  if (consistency !== null && !(await lines.run('consistency', () => checkPrefix(proven)))) {
    return failed();
  }
  for (const [i, entry] of claim.entries.entries()) {
    if (rule?.stray === true && i === claim.entries.length - 2) continue;
    if (!(await lines.run('entry', () => checkCommitted(proven, entry)))) return failed();
  }
  const words = await lines.take<string | null>('rule', () => {
    const said = rule === undefined ? null : brokenBy(rule, proven);
    return said === null ? [{ not_shown: REPLAY }, said] : ['the evidence breaks it', said];
  });
  if (words === undefined) return failed();
  if (words !== null) {
    const origins = [...new Set(claim.logs.map(({ origin }) => origin))];
    const logs = origins.length > 1 ? `logs ${origins.join(' and ')}` : `log ${trust.origin}`;
    const summary = `the operator of the ${logs} ${words}`;
    return lines.finding(summary, { facts, not_proven: NOT_PROVEN });
  }
  const summary = `the log signed what is shown, and only a replay of the log shows whether it breaks the rule ${claim.rule}`;
  return { ...lines.finding(summary, { facts }), valid: false, untold: true, verdict: 'UNKNOWN' };
}

const REPLAY = 'the other entries of the log decide: actlog monitor replays them';

const NOT_PROVEN = [
  'Who used the key: whoever holds a stolen key of the log can sign as its operator does.',
  'When it was signed: a note has no time of its own.',
] as const;

/** Reads the members; Unanswerable for a finding that others cannot check. */
function readClaim(suite: Suite, trust: Trust, document: JsonObject): Claim {
  const members = exactObject(document, 'finding', REQUIRED, OPTIONAL);
  if (members.schema !== 'actlog-violation-v1') throw refused('schema is another one');
  const rule = string(members.rule, 'rule');
  if (!RULE.test(rule)) throw refused('rule is no name of a rule');
  const { proof } = members;
  if (proof !== 'signed' && proof !== 'observed') throw refused('proof is not signed or observed');
  if (proof === 'observed') {
    throw new Unanswerable(
      `this finding (${rule}) is what its monitor was given or read from a clock, and no signature proves it: others cannot check it`,
    );
  }
  string(members.detail, 'detail');
  count(members.found_at_ms, 'found_at_ms');
  if (Object.hasOwn(members, 'withheld')) strings(members.withheld, 'withheld', MAX_WITHHELD);
  for (const name of ['tile', 'clock_ms']) {
    if (Object.hasOwn(members, name)) throw refused(`a signed finding has no ${name}`);
  }
  if (members.origin !== trust.origin) throw refused('finding is of another log');
  if (string(members.vkey, 'vkey') !== trust.vkey) throw refused('finding is of another key');
  const notes = strings(members.notes, 'notes', MAX_NOTES);
  if (notes.length === 0) throw refused('finding has no note');
  const named = Object.hasOwn(members, 'vkeys');
  const entries = list(members.entries, 'entries', MAX_ENTRIES).map((one) =>
    readShown(suite, one, { notes: notes.length, named }),
  );
  const { consistency: prefix } = members;
  const consistency = prefix === undefined ? null : readConsistency(prefix);
  const logs = named ? readLogs(trust, rule, members.vkeys, notes.length) : notes.map(() => trust);
  return { rule, notes, logs, named, entries, consistency };
}

/**
 * The log of each note of a finding about two logs, which names their verifier keys. The last one is the log of the
 * finding. Unanswerable for a second log that the trust does not have, or that may have another operator.
 */
function readLogs(trust: Trust, rule: string, vkeys: Json | undefined, notes: number): KnownLog[] {
  const texts = strings(vkeys, 'vkeys', MAX_NOTES);
  if (texts.length !== notes) throw refused('vkeys are not those of the notes');
  if (texts.at(-1) !== trust.vkey) throw refused('finding is of another key');
  return texts.map((vkey) => {
    const origin = vkey.split('+', 1)[0] ?? '';
    const known = origin === trust.origin ? trust.vkey : trust.logs?.get(origin);
    if (known === undefined) {
      throw new Unanswerable(
        `this finding (${rule}) is also about a log that the kit does not know: ${STRANGE_LOG}`,
      );
    }
    if (known !== vkey) throw refused('finding is of another key');
    const [own, other] = [originParts(trust.origin), originParts(origin)];
    if (own === null || own.host !== other?.host) {
      throw new Unanswerable(
        `this finding (${rule}) is about logs of two hosts, and no signature proves that they have one operator`,
      );
    }
    return { origin, vkey };
  });
}

function readConsistency(value: Json): NonNullable<Claim['consistency']> {
  const members = exactObject(value, 'consistency', ['from', 'to', 'from_root', 'path']);
  return {
    from: count(members.from, 'from'),
    to: count(members.to, 'to'),
    fromRoot: hash(members.from_root, 'from_root'),
    path: list(members.path, 'path', MAX_CONSISTENCY).map((node) => hash(node, 'path')),
  };
}

const CONTENTS = ['entry', 'entry_base64', 'leaf_hash'] as const;

/** `named`: the finding names the verifier keys of its notes, and its entries may name their note. */
function readShown(
  suite: Suite,
  value: Json,
  { notes, named }: { readonly notes: number; readonly named: boolean },
): Shown {
  const optional = [...CONTENTS, 'path', ...(named ? ['note'] : [])];
  const members = exactObject(value, 'entry of a finding', ['index'], optional);
  const index = count(members.index, 'index of an entry');
  const own = members.note === undefined ? notes - 1 : count(members.note, 'note of an entry');
  if (own >= notes) throw refused('an entry names a note that is not there');
  const [content, ...more] = CONTENTS.filter((name) => Object.hasOwn(members, name));
  if (content === undefined || more.length > 0) {
    throw refused('an entry has not exactly one of entry, entry_base64 and leaf_hash');
  }
  const shown = string(members[content], content);
  const way = Object.hasOwn(members, 'path')
    ? path(members.path, 'path of an entry').map((node) => hash(node, 'path of an entry'))
    : null;
  if (content === 'leaf_hash') {
    return { index, text: null, leafHash: fromHex(shown, 32), path: way, note: own };
  }
  const bytes = content === 'entry' ? utf8(shown) : fromBase64(shown);
  if (content === 'entry_base64' && isUtf8(bytes)) throw refused('entry_base64 is UTF-8');
  // Bytes that are not UTF-8 are no text of an entry, and neither is the empty string.
  const text = content === 'entry' ? shown : '';
  return { index, text, leafHash: leafHash(suite, bytes), path: way, note: own };
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** The log alone is held to what it signed, so cosigners do not matter. */
function openSigned(
  suite: Suite,
  { origin, vkey }: KnownLog,
  note: string,
  rule: Rule | undefined,
): readonly [string, TreeHead] {
  if (rule?.anyText !== true) {
    const { size, root } = openTree(suite, { origin, vkey, keys: [] }, note);
    return [`tree of ${String(size)} entries`, { size, root }];
  }
  openNote(suite, note, [parseVkey(suite, vkey)]);
  return ['a note that the log signed', { size: 0, root: new Uint8Array(32) }];
}

function checkPrefix({ suite, consistency, trees }: Proven): string {
  const [older, newer, ...more] = trees;
  if (consistency === null || older === undefined || newer === undefined || more.length > 0) {
    throw refused('consistency is not that of two notes');
  }
  const { from, to } = consistency;
  if (from !== older.size || to !== newer.size || from === 0 || from >= to) {
    throw refused('consistency is of other sizes');
  }
  checkConsistency(suite, { ...consistency, toRoot: newer.root });
  return `from ${String(from)} to ${String(to)}`;
}

function checkCommitted(
  { suite, trees }: Proven,
  { index, leafHash: leaf, path: way, note }: Shown,
): string {
  const tree = trees[note];
  if (tree === undefined || way === null) throw refused('an entry has no path');
  checkInclusion(suite, { index, leafHash: leaf, path: way, ...tree });
  return `entry ${String(index)} of ${String(tree.size)}`;
}
