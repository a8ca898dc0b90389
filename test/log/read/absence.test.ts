// Absence documents compared with a scan of the entries, for random histories and windows: an accepted proof that a
// surface is empty exists if and only if it is empty, and the verdict is ABSENT if and only if the surface was also
// declared and covered. ABSENCE_CASES sets the number of windows; 10,000 take some minutes.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { toBase64 } from '../../../log/encoding/bytes.ts';
import { manifestHash, runSince } from '../../../log/index.ts';
import type { ChainKey, Draft, Json, JsonObject } from '../../../log/index.ts';
import { LogError, trustedKeyOf, verifyAbsence } from '../../../log/verify.ts';
import type { Question, Trust, Verdict } from '../../../log/verify.ts';
import { openTestLog } from '../../support/open-test-log.ts';
import type { TestLog } from '../../support/open-test-log.ts';
import { steps, window } from './random-histories.ts';
import type { Step } from './random-histories.ts';
import { ACT, scan, told, VERDICTS } from './scanned-verdict.ts';
import type { Asked, Told } from './scanned-verdict.ts';

const CASES = Number(process.env['ABSENCE_CASES'] ?? 300);
const WINDOWS = 10;

const TENANT = 'dGVuYW50LWV4YW1wbGUtMQ';

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

  /** Every proof that the tree has for this chain: each entry as successor, and the end of the chain. */
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
    // Every verdict must occur among the answers; if one does not, more histories are run.
    do {
      await fc.assert(
        fc.asyncProperty(steps, fc.array(window, { minLength: WINDOWS, maxLength: WINDOWS }), run),
        { numRuns: Math.ceil(CASES / WINDOWS), endOnFailure: CASES > 1000 },
      );
    } while (!VERDICTS.every((verdict) => (seen[verdict] ?? 0) > 0));
    if (CASES > 1000) console.log(`      ${JSON.stringify(seen)}`);

    async function run(
      happens: readonly Step[],
      windows: readonly { surface: string; at: number; length_ms: number }[],
    ): Promise<void> {
      const { log } = test;
      test.time.advance(100);
      const entity = `e${String(entities++)}`;
      const start = log.size();
      const began_ms = test.time.wall();
      await append({ type: 'astl.entity.v1', members: { entity, action: 'claim' } });
      for (const step of happens) await take(entity, step);
      test.time.advance(2);
      const { size, map_head_ms } = await log.whenPublished(log.size() + 1);
      const statements = Array.from(
        { length: size - start },
        (_, i) => JSON.parse(log.entry(start + i) ?? 'null') as JsonObject,
      );
      const history = told(statements);
      for (const { surface: name, at, length_ms } of windows) {
        const from_ms = began_ms + Math.floor(at * (map_head_ms - began_ms));
        const to_ms = Math.min(from_ms + length_ms, map_head_ms);
        const asked = { surface: name, from_ms, to_ms };
        const verdict = await judge(entity, history, asked);
        seen = { ...seen, [verdict]: (seen[verdict] ?? 0) + 1 };
      }
    }
  });

  async function judge(entity: string, history: Told, asked: Asked): Promise<Verdict> {
    const { from_ms, to_ms, surface: name } = asked;
    const question = { key: ['surface', entity, name], from_ms, to_ms };
    const document = await test.log.absence(question);
    const result = verifyAbsence(document, question, trust, {
      suite: native,
      now_ms: test.time.wall(),
    });
    const { chain, inside, verdict } = scan(history, asked);
    assert.equal(result.entries, inside);

    const { schema, checkpoint, map_head } = document;
    const proofs = await proofsOf(question.key, chain);
    const provable = proofs.filter((proof) =>
      accepts(
        { schema, question, checkpoint, map_head, proof, verdict: 'UNDECLARED' } as JsonObject,
        question,
      ),
    );
    assert.equal(
      provable.length > 0,
      inside === 0,
      'a proof of emptiness is accepted if and only if the window is empty',
    );
    assert.equal(result.verdict, verdict);
    return verdict;
  }
});
