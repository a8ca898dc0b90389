// Whole absence documents against a scan of the entries: for random histories and windows, a proof that a surface
// is empty is there exactly when it is, and ABSENT is said exactly when it was declared and covered as well.
// ABSENCE_CASES sets how many windows are asked; 10,000 take some minutes.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../log/crypto/native.ts';
import { toBase64 } from '../../log/encoding/bytes.ts';
import { manifestHash, runSince } from '../../log/index.ts';
import type { ChainKey, Draft, EntryType, Json, JsonObject } from '../../log/index.ts';
import { LogError, trustedKeyOf, verifyAbsence } from '../../log/verify.ts';
import type { Question, Trust } from '../../log/verify.ts';
import { openTestLog } from '../support/open-test-log.ts';
import type { TestLog } from '../support/open-test-log.ts';

const CASES = Number(process.env['ABSENCE_CASES'] ?? 300);
const WINDOWS = 10;

const VERDICTS = ['PRESENT', 'UNDECLARED', 'UNDERSAMPLED', 'ABSENT'];

const TENANT = 'dGVuYW50LWV4YW1wbGUtMQ';
const SURFACES = ['bind', 'pay'] as const;

const ACT: EntryType = {
  name: 'demo.attempt.v1',
  schema: {
    type: 'object',
    properties: { entity: { type: 'string' }, surface: { type: 'string' } },
    required: ['entity', 'surface'],
    additionalProperties: false,
  },
  keys: [],
};

/** One thing that happens; times are milliseconds from the one before. */
type Step =
  | { readonly do: 'act'; readonly surface: string }
  | { readonly do: 'beat'; readonly surface: string; readonly interval_ms: number }
  | {
      readonly do: 'manifest';
      readonly surfaces: readonly string[];
      readonly from: number | null;
      readonly until: number | null;
      readonly interval_ms: number | null;
    }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'publish' };

const surface = fc.constantFrom(...SURFACES);
const interval = fc.constantFrom(3, 8, 20);

/** Most often nothing. */
const seldom = (value: fc.Arbitrary<number>): fc.Arbitrary<number | null> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });

const manifest: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('manifest' as const),
  surfaces: fc.oneof(
    { weight: 8, arbitrary: fc.constant<readonly string[]>([...SURFACES]) },
    { weight: 1, arbitrary: fc.subarray([...SURFACES]) },
  ),
  from: seldom(fc.integer({ min: -20, max: 10 })),
  until: seldom(fc.integer({ min: 0, max: 60 })),
  interval_ms: fc.oneof(fc.constant(null), fc.constantFrom(8, 20)),
});
const beat: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('beat' as const),
  surface,
  interval_ms: interval,
});
const pass: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('pass' as const),
  ms: fc.integer({ min: 1, max: 9 }),
});

const later: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('act' as const), surface }) },
  { weight: 6, arbitrary: beat },
  { weight: 1, arbitrary: manifest },
  { weight: 6, arbitrary: pass },
  { weight: 1, arbitrary: fc.constant({ do: 'publish' as const }) },
);
const steps: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.array(manifest, { minLength: 1, maxLength: 1 }),
    fc.array(later, { minLength: 4, maxLength: 28 }),
  )
  .map((parts) => parts.flat());

/** A window: where in the history it begins, and how many milliseconds it has. */
const window = fc.record({
  surface,
  at: fc.noBias(fc.nat(1000)).map((parts) => parts / 1000),
  length_ms: fc.oneof(fc.nat(6), fc.nat(30), fc.nat(200)),
});

/** What the entries of one entity say, read one by one. */
interface History {
  readonly acts: readonly {
    readonly index: number;
    readonly ms: number;
    readonly surface: string;
  }[];
  readonly manifests: readonly JsonObject[];
  readonly beats: readonly JsonObject[];
}

const ms = (statement: JsonObject): number => statement.issued_at_ms as number;

function scan(statements: readonly JsonObject[]): History {
  const of = (type: string): JsonObject[] => statements.filter((entry) => entry.type === type);
  return {
    acts: of(ACT.name).map((entry) => ({
      index: entry.index as number,
      ms: ms(entry),
      surface: entry.surface as string,
    })),
    manifests: of('astl.manifest.v1'),
    beats: of('astl.heartbeat.v1'),
  };
}

/** Whether each manifest of the window lists the surface and each millisecond lies in the span of one. */
function declared(manifests: readonly JsonObject[], asked: Asked): readonly JsonObject[] | null {
  const first = manifests.findLastIndex((entry) => ms(entry) < asked.from_ms);
  if (first < 0) return null;
  const inForce = manifests.slice(first).filter((entry) => ms(entry) <= asked.to_ms);
  if (!inForce.every((entry) => (entry.surfaces as string[]).includes(asked.surface))) return null;
  for (let at = asked.from_ms; at <= asked.to_ms; at++) {
    const spanned = inForce.some((entry, i) => {
      const next = inForce[i + 1];
      const until = (entry.valid_until_ms as number | undefined) ?? Infinity;
      const from = Math.max(ms(entry), entry.valid_from_ms as number);
      return from <= at && at <= Math.min(until, next === undefined ? Infinity : ms(next));
    });
    if (!spanned) return null;
  }
  return inForce;
}

/** Whether one unbroken run of heartbeats covers the window; runs are counted again from the beats. */
function covered(
  all: readonly JsonObject[],
  inForce: readonly JsonObject[],
  { surface: name, from_ms, to_ms }: Asked,
): boolean {
  const promised = inForce.flatMap(
    (entry) => (entry.heartbeat_interval_ms as number | undefined) ?? [],
  );
  if (promised.length === 0) return true;
  const limit = Math.min(...promised);
  let before: JsonObject | undefined;
  let since = 0;
  for (const beat of all.filter((entry) => entry.surface === name)) {
    const every = beat.interval_ms as number;
    const late = before === undefined || ms(beat) - ms(before) > every;
    if (late || before?.interval_ms !== every) since = ms(beat);
    before = beat;
    if (every <= limit && since <= from_ms + limit && ms(beat) >= to_ms - limit) return true;
  }
  return false;
}

interface Asked {
  readonly surface: string;
  readonly from_ms: number;
  readonly to_ms: number;
}

describe('log/absence', function () {
  this.timeout(60_000 + CASES * 400);

  let test: TestLog;
  let trust: Trust;
  let entities = 0;

  before(async () => {
    test = await openTestLog({ types: [ACT] });
    const { log } = test;
    await log.registerTenant(TENANT, '0'.repeat(64));
    trust = { origin: log.origin, vkey: log.vkey, keys: log.receiptKeys().map(trustedKeyOf) };
  });
  after(async () => {
    await test.check();
    await test.close();
  });

  const append = (draft: Omit<Draft, 'tenant_ref'>): Promise<unknown> =>
    test.log.append([{ tenant_ref: TENANT, ...draft }]);

  const take = async (entity: string, step: Step): Promise<void> => {
    switch (step.do) {
      case 'pass':
        test.time.advance(step.ms);
        return;
      case 'publish':
        await test.log.whenPublished(test.log.size() + 1);
        return;
      case 'act':
        await append({ type: ACT.name, members: { entity, surface: step.surface } });
        return;
      case 'beat':
        await append({
          type: 'astl.heartbeat.v1',
          members: ({ surfaces, issued_at_ms }) => {
            const last = surfaces.heartbeat(entity, step.surface);
            const run_since_ms = runSince(last, step.interval_ms, issued_at_ms);
            return { entity, surface: step.surface, interval_ms: step.interval_ms, run_since_ms };
          },
        });
        return;
      case 'manifest': {
        const now = test.time.wall();
        const members: JsonObject = {
          entity,
          surfaces: [...step.surfaces].sort(),
          valid_from_ms: now + (step.from ?? 0),
          ...(step.until === null ? {} : { valid_until_ms: now + step.until }),
          ...(step.interval_ms === null ? {} : { heartbeat_interval_ms: step.interval_ms }),
        };
        const surface_manifest_hash = manifestHash(native, members);
        await append({ type: 'astl.manifest.v1', members: { ...members, surface_manifest_hash } });
      }
    }
  };

  const accepts = (document: JsonObject, question: Question): boolean => {
    try {
      verifyAbsence(document, question, trust, { suite: native, now_ms: test.time.wall() });
      return true;
    } catch (error) {
      if (error instanceof LogError && error.code === 'document_invalid') return false;
      throw error;
    }
  };

  /** Every proof that the tree has to offer for this chain: each entry as the one after, and the end. */
  const proofsOf = async (key: ChainKey, indexes: readonly number[]): Promise<Json[]> => {
    const { log } = test;
    const { size, map_head_ms } = log.published();
    const end = await log.lookup({ key, from_ms: map_head_ms, to_ms: map_head_ms });
    const gaps = indexes.map((index) => ({
      type: 'gap',
      successor: { index, entry: log.entry(index), path: log.inclusion(index, size).map(toBase64) },
    }));
    return [...gaps, end.proof ?? null] as Json[];
  };

  it(`agrees with a scan of the entries over ${String(CASES)} windows`, async () => {
    let seen: Record<string, number> = {};
    // The histories are worth something only when every verdict is among the answers: seldom it takes some more.
    do {
      await fc.assert(
        fc.asyncProperty(steps, fc.array(window, { minLength: WINDOWS, maxLength: WINDOWS }), run),
        { numRuns: Math.ceil(CASES / WINDOWS), endOnFailure: CASES > 1000 },
      );
    } while (!VERDICTS.every((verdict) => (seen[verdict] ?? 0) > 0));
    if (CASES > 1000) console.log(`      ${JSON.stringify(seen)}`);

    async function run(
      history: readonly Step[],
      windows: readonly { surface: string; at: number; length_ms: number }[],
    ): Promise<void> {
      const { log } = test;
      test.time.advance(100);
      const entity = `e${String(entities++)}`;
      const start = log.size();
      const began_ms = test.time.wall();
      await append({ type: 'astl.entity.v1', members: { entity, action: 'claim' } });
      for (const step of history) await take(entity, step);
      test.time.advance(2);
      const { size, map_head_ms } = await log.whenPublished(log.size() + 1);
      const statements = Array.from(
        { length: size - start },
        (_, i) => JSON.parse(log.entry(start + i) ?? 'null') as JsonObject,
      );
      const told = scan(statements);
      for (const { surface: name, at, length_ms } of windows) {
        const from_ms = began_ms + Math.floor(at * (map_head_ms - began_ms));
        const to_ms = Math.min(from_ms + length_ms, map_head_ms);
        const asked = { surface: name, from_ms, to_ms };
        const verdict = await judge(entity, told, asked);
        seen = { ...seen, [verdict]: (seen[verdict] ?? 0) + 1 };
      }
    }
  });

  async function judge(entity: string, told: History, asked: Asked): Promise<string> {
    const { from_ms, to_ms, surface: name } = asked;
    const question = { key: ['surface', entity, name], from_ms, to_ms };
    const document = await test.log.absence(question);
    const result = verifyAbsence(document, question, trust, {
      suite: native,
      now_ms: test.time.wall(),
    });
    const chain = told.acts.filter((entry) => entry.surface === name);
    const inside = chain.filter((entry) => entry.ms >= from_ms && entry.ms <= to_ms);
    assert.equal(result.entries, inside.length);

    const { schema, checkpoint, map_head } = document;
    const proofs = await proofsOf(
      question.key,
      chain.map(({ index }) => index),
    );
    const provable = proofs.filter((proof) =>
      accepts(
        { schema, question, checkpoint, map_head, proof, verdict: 'UNDECLARED' } as JsonObject,
        question,
      ),
    );
    assert.equal(provable.length > 0, inside.length === 0, 'a proof of emptiness, and emptiness');

    const inForce = declared(told.manifests, asked);
    const expected =
      inside.length > 0
        ? 'PRESENT'
        : inForce === null
          ? 'UNDECLARED'
          : covered(told.beats, inForce, asked)
            ? 'ABSENT'
            : 'UNDERSAMPLED';
    assert.equal(result.verdict, expected);
    return expected;
  }
});
