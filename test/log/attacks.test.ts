// 26 attacks on proofs of absence. Each test makes a log or a document that carries the attack out, and asserts the
// check that refuses it. For an attack that format 1 cannot prevent, the test shows what remains provable.

import assert from 'node:assert/strict';
import { native } from '../../log/crypto/native.ts';
import { concat, toBase64, toHex, u8 } from '../../log/encoding/bytes.ts';
import type { Json, JsonObject } from '../../log/encoding/json.ts';
import { checkMember, mapLeafHash } from '../../log/map/check.ts';
import { vhash } from '../../log/map/head.ts';
import { skey } from '../../log/map/key.ts';
import { checkInclusion } from '../../log/merkle/check.ts';
import { policyOf } from '../../log/note/policy.ts';
import { formatVkey } from '../../log/note/note.ts';
import { Replay, Violation } from '../../log/replay/replay.ts';
import { LogError, verifyAbsence, verifyReceipt } from '../../log/verify.ts';
import {
  check,
  documentOf,
  MANIFEST,
  questionOf,
  refusal,
  refuses,
  SURFACE,
  trust,
} from '../support/absence-documents.ts';
import { OTHER, refuses as breaks } from '../support/break-rule.ts';
import { mapNode } from '../support/definitions.ts';
import { ACT, DECISION, ENTITY, Forge, name43, seedKey, START_MS } from '../support/forge.ts';

const ACT_AT = START_MS + 4000;
const session = (n: number): string[] => ['session', name43(n)];

/** A document about an honest log, for the window up to its last map head. */
const asked = (log: Forge, key: string[], change: Readonly<Record<string, Json>>): JsonObject =>
  documentOf(log, { key, from_ms: 0, to_ms: log.ms }, change);
const absent = (log: Forge, key = session(1)): JsonObject => asked(log, key, { verdict: 'ABSENT' });

/** A log with an act that breaks a rule after the usual entries. */
function acted(members: JsonObject, bend: Readonly<Record<string, Json | undefined>> = {}): Forge {
  const log = new Forge().usual();
  log.add('gate.decision.v1', { ...ACT, ...members }, { statement: bend });
  return log;
}

/** A log whose last map head leaves out its act. */
function lying(): Forge {
  const log = new Forge().open().tenant().declare('gate.decision.v1', DECISION).claim();
  const map_root = toHex(log.mapRoot());
  log.add('gate.decision.v1', ACT);
  return log.mapHead({ statement: { map_root } });
}

describe('attacks on absence', () => {
  it('1: the head map leaves out the chain of an entry', () => {
    breaks(lying(), 'map_root');
  });

  it('2: an entry lacks its link, or has the link of another chain', () => {
    breaks(acted({}, { links: undefined }), 'links');
    const [key, seq, prev_index, prev_ms] = [session(7), 0, null, null];
    breaks(acted({}, { links: [{ key, seq, prev_index, prev_ms }] }), 'links');
  });

  it('3: two entries claim the same predecessor', () => {
    const log = new Forge().usual();
    const second = log.add('gate.decision.v1', ACT);
    const { links } = JSON.parse(second) as { links: Json };
    log.add('gate.decision.v1', ACT, { statement: { links } });
    breaks(log, 'links');
  });

  it('4: a different map root for one victim', () => {
    const log = new Forge().usual();
    const other = new Forge().usual();
    other.mapHead();
    const proof = { type: 'never', siblings: [] };
    refuses({ ...absent(log), map_head: other.opened(6) }, /step 2/);
    refuses({ ...absent(log), proof }, /step 4/);
  });

  it('5: a map head that is not the last entry of the tree', () => {
    const log = new Forge().usual();
    log.add('gate.decision.v1', ACT);
    log.mapHead();
    refuses({ ...absent(log), map_head: log.opened(5) }, /step 2/);
  });

  it('6: an old map root for a later window', () => {
    const log = new Forge().usual();
    const question = { key: session(1), from_ms: 0, to_ms: log.ms + 1 };
    refuses(documentOf(log, question, { verdict: 'ABSENT' }), /step 3: window is not closed/);
    assert.equal(check(absent(log)).as_of_ms, log.ms, 'the result has the time of the map head');
  });

  it('7: an entry is added to a window after it was answered', () => {
    const log = new Forge().usual();
    log.add('gate.decision.v1', ACT, { after_ms: 0 });
    breaks(log, 'time_after_map_head');
  });

  it('8: a map head with a future time closes a window early', () => {
    const log = new Forge().usual();
    log.mapHead({ after_ms: 3_600_000 });
    const now = log.ms - 3_600_000;
    assert.throws(() => check(absent(log), {}, now), /step 3: .*clock/);
    const key = seedKey(0x51);
    const policy = policyOf(native, 1, [formatVkey(native, 'w.example/one', 4, key.publicKey)]);
    const checkpoint = log.note([{ name: 'w.example/one', key, time_s: now / 1000 }]);
    refuses({ ...absent(log), checkpoint }, /step 3: too few/, { policy });
  });

  it('9: a backdated entry', () => {
    const log = new Forge().usual();
    log.add('gate.decision.v1', ACT, { after_ms: -2000 });
    breaks(log, 'time_order');
  });

  it('10: an act is logged too late, or has a future time', () => {
    const log = new Forge().usual();
    const now = log.ms + 1000;
    breaks(acted({ event_at_ms: now - 86_400_001 }), 'event_at_ms');
    breaks(acted({ event_at_ms: now + 60_001 }), 'event_at_ms');
  });

  it('11: a split view: two trees of the same size', () => {
    const [one, two] = [new Forge().usual(), new Forge().usual()];
    one.add('gate.decision.v1', ACT);
    two.add('gate.decision.v1', { ...ACT, outcome: 'DENY' });
    one.mapHead();
    two.mapHead();
    const replay = new Replay({ suite: native });
    for (const text of one.texts) replay.add(text);
    const { origin, size } = two;
    assert.throws(
      () => {
        replay.checkCheckpoint({ origin, size, root: two.root() });
      },
      (error) => error instanceof Violation && error.rule === 'checkpoint_root',
    );
  });

  it('12: an inner node is shown as a leaf, in the log tree and in the map', () => {
    const log = new Forge().usual();
    const root = log.root();
    const inner = native.sha256(concat(u8(1), log.leaves[0]!, log.leaves[1]!));
    const path = log.path(0).map((node) => Uint8Array.from(Buffer.from(node, 'base64')));
    checkInclusion(native, { index: 0, size: 6, leafHash: log.leaves[0]!, path, root });
    for (const index of [0, 1]) {
      const claim = { index, size: 6, leafHash: inner, path: path.slice(1), root };
      assert.throws(() => {
        checkInclusion(native, claim);
      }, LogError);
    }
    const { siblings } = log.mapProof(session(1)) as unknown as { siblings: string[] };
    const [top = ''] = siblings;
    const foreign = { skey: top, vhash: top };
    refuses({ ...absent(log), proof: { type: 'never', siblings: [], foreign } }, /step 4/);
  });

  it('13: the foreign leaf is that of the key itself or off its path; siblings are cut or padded', () => {
    const log = new Forge().usual();
    const tail = log.mapProof(SURFACE) as unknown as { siblings: string[]; head: JsonObject };
    const { last_leaf_hash, ...numbers } = tail.head;
    const head = { ...numbers, last_leaf_hash: Buffer.from(last_leaf_hash as string, 'base64') };
    const own = {
      skey: toBase64(skey(native, log.origin, SURFACE)),
      vhash: toBase64(vhash(native, head as unknown as Parameters<typeof vhash>[1])),
    };
    const claims = (proof: JsonObject, key = SURFACE): JsonObject =>
      asked(log, key, { verdict: 'ABSENT', proof });
    const { siblings } = tail;
    refuses(claims({ type: 'never', siblings, foreign: own }), /step 4/);
    refuses(claims({ type: 'never', siblings: siblings.slice(1) }), /step 4/);
    const never = log.mapProof(session(1)) as unknown as JsonObject & { siblings: string[] };
    for (const changed of [never.siblings.slice(1), ['', ...never.siblings]]) {
      refuses(claims({ ...never, siblings: changed }, session(1)), /step 4/);
    }
    const far = { skey: toBase64(native.sha256(u8(9))), vhash: own.vhash };
    refuses(claims({ ...never, foreign: far }, session(1)), /step 4/);
  });

  it('14: the proof belongs to another question', () => {
    const log = new Forge().usual();
    const replayed = absent(log, session(1));
    check(replayed);
    const question = { key: SURFACE, from_ms: 0, to_ms: log.ms };
    refuses({ ...replayed, question }, /step 4/);
  });

  it('15: ABSENT for a surface that was never declared', () => {
    const log = new Forge().usual();
    const surface = ['surface', ENTITY, 'never_seen'];
    assert.equal(check(asked(log, surface, { verdict: 'UNDECLARED' })).verdict, 'UNDECLARED');
    refuses(asked(log, surface, { verdict: 'ABSENT' }), /verdict/);
  });

  it('16: the manifest in force in the window is left out', () => {
    const log = new Forge().usual();
    log.manifest().manifest({ surfaces: ['policy_bind'] });
    const from_ms = log.ms + 1;
    log.mapHead();
    const surface = ['surface', ENTITY, 'offer_extend'];
    const question = { key: surface, from_ms, to_ms: log.ms };
    const withManifest = (index: number): JsonObject =>
      documentOf(log, question, {
        verdict: 'ABSENT',
        declared: { manifests: [log.opened(index)], closing: log.mapProof(MANIFEST) },
      });
    refuses(withManifest(6), /step 6/); // the older one lists the surface, but is no longer in force
    refuses(withManifest(7), /step 7|verdict/); // the one in force does not list it
  });

  it('17: an act under another spelling of the surface', () => {
    for (const surface of ['Policy_bind', 'policy_bind/', 'pоlicy_bind', 'policy bind']) {
      breaks(acted({ surface }), 'reserved_members');
    }
    const log = new Forge().usual();
    log.add('gate.decision.v1', { ...ACT, surface: 'other_bind' });
    log.mapHead();
    const shown = { verdict: 'PRESENT', entries: [log.opened(4), log.opened(6)] };
    assert.equal(
      check(asked(log, ['entity', ENTITY], shown)).entries,
      2,
      'the chain of the entity has the act under any surface',
    );
  });

  it('18: an act under an entity that the tenant does not own', () => {
    // The log refuses an entity that the tenant does not own. It cannot know which of the tenant's own entities acted.
    breaks(acted({ entity: 'did:example:other' }), 'entity_owner');
  });

  it('19: entries of a third party on the chain of an entity', () => {
    const log = new Forge().usual().tenant(OTHER);
    log.add('gate.decision.v1', { ...ACT, tenant_ref: OTHER });
    breaks(log, 'entity_owner');
  });

  it('20: keys chosen to lie deep in the map: a path has at most 256 siblings', () => {
    const leaf = { skey: new Uint8Array(32), vhash: new Uint8Array(32).fill(1) };
    const sibling = new Uint8Array(32).fill(2);
    const proofOf = (depth: number) => {
      let root = mapLeafHash(native, leaf);
      for (let d = 0; d < depth; d++) root = mapNode(root, sibling);
      return { ...leaf, root, siblings: Array.from({ length: depth }, () => sibling) };
    };
    checkMember(native, proofOf(256));
    assert.throws(() => {
      checkMember(native, proofOf(257));
    }, LogError);
  });

  it('21: a checkpoint with an additional line', () => {
    const log = new Forge().usual();
    const checkpoint = log.note().replace('\n\n', `\n${toBase64(log.mapRoot())}\n\n`);
    refuses({ ...absent(log), checkpoint }, /step 1/);
  });

  it('22: another encoding of the same bytes', () => {
    const log = new Forge().usual();
    const good = absent(log);
    const head = log.opened(5);
    const [first = '', ...rest] = log.path(5);
    refuses(
      { ...good, map_head: { ...head, path: [first.replace('=', ''), ...rest] } },
      /base64|step/,
    );
    const text = JSON.stringify(good);
    const question = questionOf(good);
    verifyAbsence(text, question, trust, { suite: native });
    for (const spelled of ['"from_ms":0.0', '"from_ms":-0', '"from_ms":0,"from_ms":0']) {
      const changed = text.replace('"from_ms":0', spelled);
      assert.throws(
        () => verifyAbsence(changed, question, trust, { suite: native }),
        refusal(/^document/),
      );
    }
  });

  it('23: the operator and all monitors collude: their signatures remain evidence', () => {
    // An offline verifier cannot detect this. A holder of the entry can prove that the map head denies it.
    const log = lying();
    breaks(log, 'map_root');
    const receipt = {
      ...(JSON.parse(log.texts[4]!) as JsonObject),
      entry_hash: toHex(log.leaves[4]!),
      log: {
        ...{ origin: log.origin, index: 4 },
        ...{ checkpoint: log.note(), inclusion_proof: log.path(4) },
      },
    };
    assert.equal(verifyReceipt(receipt, trust, { suite: native }).valid, true);
  });

  it('24: an act is never submitted: no ABSENT without a heartbeat run that covers the window', () => {
    const log = new Forge().usual();
    log.manifest({ heartbeat_interval_ms: 1000, min_detectable_gap_ms: 2000 });
    const from_ms = log.ms + 1;
    log.mapHead({ after_ms: 10_000 });
    const question = { key: ['surface', ENTITY, 'offer_extend'], from_ms, to_ms: log.ms };
    const declared = { manifests: [log.opened(6)], closing: log.mapProof(MANIFEST) };
    refuses(documentOf(log, question, { verdict: 'ABSENT', declared }), /step 8/);
    const told = documentOf(log, question, { verdict: 'UNDERSAMPLED', declared });
    assert.equal(check(told).verdict, 'UNDERSAMPLED');
  });

  it('25: an act at the edge of the window', () => {
    const log = new Forge().usual();
    const tail = { verdict: 'UNDECLARED' };
    const window = (from_ms: number, to_ms: number): JsonObject =>
      documentOf(log, { key: SURFACE, from_ms, to_ms }, tail);
    refuses(window(ACT_AT, log.ms), /step 4: last entry is not before/);
    assert.equal(check(window(ACT_AT + 1, log.ms)).verdict, 'UNDECLARED');
    const gap = { ...tail, proof: { type: 'gap', successor: log.opened(4) } };
    const before = (to_ms: number): JsonObject =>
      documentOf(log, { key: SURFACE, from_ms: 0, to_ms }, gap);
    refuses(before(ACT_AT), /step 4/);
    assert.equal(check(before(ACT_AT - 1)).proof, 'gap');
  });

  it('26: an entry whose body was replaced, so that its chains are unknown', () => {
    const log = new Forge().usual();
    log.add('gate.decision.v1', ACT, {
      text: (text) => text.replace('PERMIT', 'on hold'),
    });
    breaks(log, 'signature');
  });
});
