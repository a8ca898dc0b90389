// The entries of a chain in a window, compared with a scan of all entries and verified offline.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import type { ChainKey, JsonObject, Link, Log } from '../../../log/index.ts';
import { parseCheckpoint } from '../../../log/note/checkpoint.ts';
import { verifyAbsence } from '../../../log/verify.ts';
import { code, KeptLog, note, NOTE, START_MS, TENANT, withLog } from '../write/kept-log.ts';

interface Question {
  readonly key: ChainKey;
  readonly from_ms: number;
  readonly to_ms: number;
}

interface OpenedJson {
  readonly index: number;
  readonly entry: string;
}

const openedIn = (document: JsonObject): readonly OpenedJson[] =>
  (document.entries as unknown as readonly OpenedJson[] | undefined) ?? [];

const indexes = (document: JsonObject): number[] => openedIn(document).map(({ index }) => index);

const linkOn = (text: string, key: ChainKey): Link | undefined => {
  const { links = [] } = JSON.parse(text) as { links?: readonly Link[] };
  return links.find((link) => JSON.stringify(link.key) === JSON.stringify(key));
};

/** Indexes and times of the entries on a chain below `size`, by a scan of every entry. */
function scan(log: Log, key: ChainKey, size: number): { index: number; ms: number }[] {
  const found: { index: number; ms: number }[] = [];
  for (let index = 0; index < size; index += 1) {
    const text = log.entry(index)!;
    if (linkOn(text, key) === undefined) continue;
    found.push({ index, ms: (JSON.parse(text) as { issued_at_ms: number }).issued_at_ms });
  }
  return found;
}

const sizeOf = (document: JsonObject): number => {
  const text = document.checkpoint as string;
  return parseCheckpoint(text.slice(0, text.indexOf('\n\n') + 1)).size;
};

/** Verifies a document and compares it with the scan. */
function judge(kept: KeptLog, question: Question, document: JsonObject): string {
  const { log, time } = kept;
  const { key, from_ms, to_ms } = question;
  const chain = scan(log, key, sizeOf(document));
  const wanted = chain.filter(({ ms }) => ms >= from_ms && ms <= to_ms).map(({ index }) => index);
  const { verdict, proof, entries } = verifyAbsence(document, question, kept.trust(), {
    suite: native,
    now_ms: time.wall(),
  });
  assert.deepEqual(indexes(document), wanted.slice(0, 100));
  assert.equal(document.more === true, wanted.length > 100);
  assert.equal(entries, Math.min(wanted.length, 100));
  const empty = key[0] === 'surface' ? 'UNDECLARED' : 'ABSENT';
  assert.equal(verdict, wanted.length > 0 ? 'PRESENT' : empty);
  const last = chain.at(-1);
  assert.equal(
    proof,
    last === undefined ? 'never' : wanted.length <= 100 && last.ms <= to_ms ? 'tail' : 'gap',
  );
  return proof;
}

const caseKey = (n: number): ChainKey => ['gate.case', `case-${String(n)}`];

describe('lookup', () => {
  it(
    'gives never, tail and gap proofs, at the edges of the window',
    withLog(async (kept) => {
      const seen = new Set<string>();
      kept.time.advance(1000);
      const [first] = await kept.append(note('case-1'), note('case-2'));
      kept.time.advance(1000);
      await kept.append(note('case-1'));
      kept.time.advance(1000);
      const { map_head_ms } = await kept.log.whenPublished(kept.log.size());
      const ms = first!.issued_at_ms;
      for (const n of [1, 2, 3]) {
        for (const from_ms of [0, ms - 1, ms, ms + 1, ms + 1000, ms + 1001]) {
          for (const to_ms of [ms - 1, ms, ms + 1, ms + 999, ms + 1000, ms + 2000, map_head_ms]) {
            if (from_ms > to_ms || to_ms > map_head_ms) continue;
            const question = { key: caseKey(n), from_ms, to_ms };
            seen.add(judge(kept, question, await kept.log.lookup(question)));
          }
        }
      }
      assert.deepEqual([...seen].sort(), ['gap', 'never', 'tail']);
    }),
  );

  it(
    'works for surfaces, entities, sessions, types, keys and claims',
    withLog(async (kept) => {
      const act = {
        name: 'gate.act.v1',
        schema: { type: 'object' },
        keys: [],
      };
      await kept.log.declare([act]);
      const session_ref = 's'.repeat(43);
      await kept.append(
        {
          type: 'astl.entity.v1',
          tenant_ref: TENANT,
          members: { entity: 'acme', action: 'claim' },
        },
        {
          type: act.name,
          tenant_ref: TENANT,
          members: { entity: 'acme', surface: 'bind', session_ref },
        },
      );
      await kept.log.operator.rotateKey();
      const kid = kept.log.receiptKeys().find(({ status }) => status === 'active')!.kid;
      const { map_head_ms: to_ms } = await kept.log.whenPublished(kept.log.size());
      for (const key of [
        ['surface', 'acme', 'bind'],
        ['surface', 'acme', 'quote'],
        ['entity', 'acme'],
        ['session', session_ref],
        ['type', NOTE.name],
        ['key', kid],
        ['claim', 'acme'],
        ['manifest', 'acme'],
      ]) {
        for (const from_ms of [0, START_MS, to_ms]) {
          const question = { key, from_ms, to_ms };
          judge(kept, question, await kept.log.lookup(question));
        }
      }
    }),
  );

  it(
    'refuses a window that is not closed or not valid, and an invalid key',
    withLog(async (kept) => {
      const { map_head_ms } = await kept.log.whenPublished(kept.log.size());
      const key = caseKey(1);
      await kept.log.lookup({ key, from_ms: 0, to_ms: map_head_ms });
      const ask = (from_ms: number, to_ms: number) => kept.log.lookup({ key, from_ms, to_ms });
      await assert.rejects(ask(0, map_head_ms + 1), code('window_not_closed'));
      for (const [from, to] of [
        [-1, 5],
        [6, 5],
        [0.5, 5],
        [0, NaN],
        [0, 2 ** 53],
      ] as const) {
        await assert.rejects(ask(from, to), code('out_of_range'));
      }
      for (const bad of [
        [],
        ['gate.case'],
        ['gate.case', 'a', 'b'],
        ['nope', 'a'],
        ['entity', 'A'],
      ]) {
        await assert.rejects(
          kept.log.lookup({ key: bad, from_ms: 0, to_ms: 1 }),
          code('key_invalid'),
        );
      }
      for (const page of [
        { limit: 0 },
        { limit: -1 },
        { limit: 0.5 },
        { after: -2 },
        { after: NaN },
      ]) {
        await assert.rejects(
          kept.log.lookup({ key, from_ms: 0, to_ms: map_head_ms }, page),
          code('out_of_range'),
        );
      }
    }),
  );

  it(
    'has pages: the first proves that more follow, and each next one links to the page before',
    withLog(async (kept) => {
      const key = caseKey(1);
      for (let i = 0; i < 9; i += 1) {
        kept.time.advance(i % 3);
        const drafts = Array.from({ length: 30 }, (_, n) => note(`case-${String(n % 2)}`));
        await Promise.all([kept.append(...drafts), kept.append(note('case-1'))]);
      }
      const { map_head_ms: to_ms, size } = await kept.log.whenPublished(kept.log.size());
      const from_ms = START_MS + 2;
      const question = { key, from_ms, to_ms };
      const wanted = scan(kept.log, key, size)
        .filter(({ ms }) => ms >= from_ms)
        .map(({ index }) => index);
      for (const limit of [undefined, 1, 7, 100, 1000]) {
        const all: number[] = [];
        for (;;) {
          const after = all.at(-1);
          const document = await kept.log.lookup(question, {
            ...(after === undefined ? {} : { after }),
            ...(limit === undefined ? {} : { limit }),
          });
          const page = openedIn(document);
          assert.ok(page.length > 0 && page.length <= Math.min(limit ?? 100, 100));
          if (after === undefined) {
            verifyAbsence(document, question, kept.trust(), {
              suite: native,
              now_ms: kept.time.wall(),
            });
          } else {
            assert.equal(linkOn(page[0]!.entry, key)?.prev_index, after);
          }
          all.push(...page.map(({ index }) => index));
          if (document.more !== true) break;
          const { successor } = document.proof as unknown as { successor: OpenedJson };
          assert.equal(linkOn(successor.entry, key)?.prev_index, all.at(-1));
        }
        assert.deepEqual(all, wanted);
      }
      assert.deepEqual(
        (await kept.log.chain(question, { limit: 1000 })).map(({ index }) => index),
        wanted,
      );
    }),
  );

  it('agrees with a scan for any history and window during appends and checkpoints', async () => {
    const step = fc.record({
      notes: fc.array(fc.nat(5), { maxLength: 8 }),
      ms: fc.constantFrom(0, 0, 1, 2, 50),
      publish: fc.boolean(),
    });
    const window = fc.record({ n: fc.nat(6), from: fc.nat(200), length: fc.nat(200) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 25 }),
        fc.array(window, { minLength: 1, maxLength: 40 }),
        async (steps, windows) => {
          const kept = await KeptLog.open();
          try {
            const under: Promise<unknown>[] = [];
            const asked = [...windows];
            for (const { notes, ms, publish } of steps) {
              kept.time.advance(ms);
              for (const n of notes) under.push(kept.append(note(`case-${String(n)}`)));
              if (publish) under.push(kept.log.whenPublished(kept.log.size()));
              const next = asked.shift();
              if (next !== undefined) under.push(ask(kept, next));
              await new Promise(setImmediate);
            }
            await Promise.all(under);
            await kept.publish();
            for (const one of windows) await ask(kept, one);
          } finally {
            await kept.end();
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  it(
    'uses one checkpoint for a document, even if others are published meanwhile',
    withLog(
      async (kept) => {
        await kept.append(...Array.from({ length: 50 }, (_, n) => note(`case-${String(n % 5)}`)));
        await kept.publish();
        const under: Promise<unknown>[] = [];
        for (let i = 0; i < 60; i += 1) {
          kept.time.advance(1);
          under.push(kept.append(note(`case-${String(i % 7)}`)));
          under.push(kept.log.whenPublished(kept.log.size() + 1));
          for (let n = 0; n < 3; n += 1) {
            under.push(ask(kept, { n: (i + n) % 8, from: i, length: 300 }));
          }
          if (i % 4 === 0) await new Promise(setImmediate);
          if (i % 10 === 9) await Promise.all(under);
        }
        await Promise.all(under);
      },
      { checkpoint_interval_ms: 2 },
    ),
  );
});

/** Asks about a window that begins some milliseconds after the start, limited to the closed time. */
async function ask(
  kept: KeptLog,
  { n, from, length }: { n: number; from: number; length: number },
): Promise<void> {
  const { map_head_ms } = kept.log.published();
  const from_ms = Math.min(START_MS + from, map_head_ms);
  const to_ms = Math.min(from_ms + length, map_head_ms);
  const question = { key: caseKey(n), from_ms, to_ms };
  judge(kept, question, await kept.log.lookup(question));
}
