// The entries in an absence document. log/FORMAT.md §6.5.

import assert from 'node:assert/strict';
import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import {
  check,
  checkAsked,
  documentOf,
  questionOf,
  refusal,
  refuses,
  SURFACE,
} from '../../support/absence-documents.ts';
import { ACT, ENTITY, Forge, name43, START_MS } from '../../support/forge.ts';

describe('entries of an absence document', () => {
  const log = new Forge().usual();
  for (let i = 0; i < 4; i++) log.add('gate.decision.v1', ACT);
  log.mapHead();
  const [first, second, last] = [4, 6, 9].map((index) => START_MS + index * 1000);
  const present = (from_ms: number, to_ms: number, indexes: number[], change = {}): JsonObject =>
    documentOf(
      log,
      { key: SURFACE, from_ms, to_ms },
      {
        verdict: 'PRESENT',
        entries: indexes.map((index) => log.opened(index)),
        ...change,
      },
    );
  const gap = (index: number): JsonObject => ({ type: 'gap', successor: log.opened(index) });

  it('begin with the first of the chain or of the window, and end with the last', () => {
    assert.equal(check(present(0, log.ms, [4, 6, 7, 8, 9])).entries, 5);
    assert.equal(check(present(second!, last!, [6, 7, 8, 9])).entries, 4);
    assert.equal(check(present(first!, second!, [4, 6], { proof: gap(7) })).proof, 'gap');
    refuses(present(second! + 1, last!, [6, 7, 8, 9]), /step 5: an entry is not in the window/);
    refuses(present(first!, last!, [6, 7, 8, 9]), /step 5: first entry of the window is left out/);
    refuses(present(0, last!, [4, 7, 8, 9]), /step 5: an entry of the chain is left out/);
    refuses(present(0, last!, [6, 4, 7, 8, 9]), /step 5/);
    refuses(present(0, last!, [4, 6, 7, 8]), /step 5: head of the chain is not/);
    refuses(
      present(0, last!, [4, 6], { proof: gap(7) }),
      /step 5: an entry of the window is left out/,
    );
    refuses(
      present(0, second!, [4, 6], { proof: gap(8) }),
      /step 5: an entry of the chain is left out/,
    );
    refuses(present(0, second!, [4, 3], { proof: gap(7) }), /step 5: entry has no link/);
    refuses(
      present(0, log.ms, [4, 6, 7, 8, 9], { proof: log.mapProof(['session', name43(1)]) }),
      /step 4/,
    );
  });

  it('prove the next one if there are more', () => {
    const page = { proof: gap(7), more: true };
    assert.equal(check(present(0, log.ms, [4, 6], page)).entries, 2);
    refuses(present(0, log.ms, [4, 6], { ...page, proof: gap(8) }), /step 5/);
    refuses(present(0, log.ms, [4, 6, 7, 8, 9], { more: true }), /step 5: more is given without/);
  });

  it('begin, on a later page, with the entry after the one that the caller names', () => {
    const asked = (document: JsonObject, after: number) =>
      checkAsked(document, { ...questionOf(document), after });
    const middle = present(0, log.ms, [7, 8], { proof: gap(9), more: true });
    assert.equal(asked(middle, 6).entries, 2);
    assert.equal(asked(present(0, log.ms, [9]), 8).proof, 'tail');
    assert.equal(asked(present(first!, last!, [7, 8, 9]), 6).entries, 3);
    refuses(middle, /step 5: first entry of the window is left out/);
    for (const after of [0, 4, 5, 7, 8]) {
      assert.throws(() => asked(middle, after), refusal(/step 5: first entry of the window/));
    }
    assert.throws(() => asked(present(0, log.ms, [4, 6, 7, 8, 9]), 3), refusal(/step 5: first/));
    assert.throws(() => asked(middle, 6.5), refusal(/step 0: after is not an integer/));
    const nothing = documentOf(
      log,
      { key: SURFACE, from_ms: 0, to_ms: 1 },
      { verdict: 'UNDECLARED', proof: gap(4) },
    );
    assert.equal(check(nothing).entries, 0);
    assert.throws(() => asked(nothing, 3), refusal(/step 5: a further page has entries/));
  });

  it('are at most 100', () => {
    refuses(
      present(
        0,
        log.ms,
        Array.from({ length: 101 }, () => 4),
      ),
      /step 5: entries has over 100/,
    );
  });

  it('have one complete link on the chain', () => {
    const bad = (links: Json, pattern: RegExp): void => {
      const other = new Forge().usual();
      other.add('gate.decision.v1', ACT, { statement: { links } });
      other.mapHead();
      const question = { key: ['entity', ENTITY], from_ms: START_MS + 5500, to_ms: other.ms };
      const entries = [other.opened(6)];
      refuses(documentOf(other, question, { verdict: 'PRESENT', entries }), pattern);
    };
    const link = { key: ['entity', ENTITY], seq: 1, prev_index: 4, prev_ms: START_MS + 4000 };
    bad([link, link], /several links/);
    bad([{ ...link, seq: 0 }], /first link has an entry before it/);
    bad([{ ...link, seq: -1 }], /seq of a link/);
    bad([{ ...link, prev_index: 6 }], /points forward/);
    bad([{ ...link, prev_ms: null }], /prev_ms of a link/);
    bad([null, 'x', { key: 'entity' }], /no link/);
    bad('x', /no link/);
  });
});
