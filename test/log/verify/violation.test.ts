// Findings of monitors and witnesses: the vectors, and changes of any character of the evidence. log/FORMAT.md §7.1.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { native } from '../../../log/crypto/native.ts';
import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import { RULES } from '../../../log/verify/violation-rules.ts';
import {
  checkDocument,
  isUnanswerable,
  logOfDocument,
  originsOf,
  portable,
  recogniseDocuments,
  trustFromKit,
} from '../../../plugins/verifiers.ts';
import type { Finding, Suite } from '../../../plugins/verifiers.ts';

interface Vector {
  readonly name: string;
  readonly doc: JsonObject;
  readonly summary?: string;
  readonly check?: string;
}

const vectors = JSON.parse(
  readFileSync(new URL('../../vectors/violation.json', import.meta.url), 'utf8'),
) as { kit: JsonObject; documents: Vector[]; undecided: Vector[]; refused: Vector[] };
const trusts = new Map(
  originsOf(vectors.kit).map((origin) => [
    origin,
    trustFromKit(vectors.kit, origin, { suite: native }),
  ]),
);

/** The finding on a document as a file, or null if the verifier cannot decide it. */
async function verify(doc: JsonObject, suite: Suite = native): Promise<Finding | null> {
  const [shown] = recogniseDocuments(Buffer.from(JSON.stringify(doc)));
  assert.ok(shown !== undefined);
  assert.equal(shown.kind, 'violation');
  try {
    const trust = trusts.get(logOfDocument(shown, [...trusts.keys()]));
    assert.ok(trust !== undefined);
    const finding = await checkDocument(shown, trust, { suite });
    return finding.untold === true ? null : finding;
  } catch (error) {
    if (isUnanswerable(error)) return null;
    throw error;
  }
}

/** The value with single characters or numbers changed. */
function* changes(value: Json, sample: number): Generator<Json> {
  if (typeof value === 'number') yield value + 1;
  if (typeof value === 'string') {
    for (let i = 0; i < Math.min(sample, value.length); i += 1) {
      const at = randomInt(value.length);
      const other = value[at] === 'A' ? 'B' : 'A';
      yield value.slice(0, at) + other + value.slice(at + 1);
    }
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    for (const changed of changes(member, sample)) {
      if (Array.isArray(value)) yield (value as readonly Json[]).with(Number(name), changed);
      else yield { ...(value as JsonObject), [name]: changed };
    }
  }
}

describe('findings of monitors and witnesses', () => {
  for (const { name, doc, summary } of vectors.documents) {
    it(`proves ${name}`, async () => {
      const finding = await verify(doc);
      assert.ok(finding?.valid, finding?.summary);
      assert.equal(finding.summary, summary);
      assert.ok(finding.not_proven.some((text) => text.startsWith('Who used the key')));
      assert.deepEqual((await verify(doc, portable))?.checks, finding.checks);
    });
  }

  for (const { name, doc } of vectors.undecided) {
    it(`cannot decide ${name}`, async () => {
      assert.equal(await verify(doc), null);
    });
  }

  for (const { name, doc, check } of vectors.refused) {
    it(`refuses ${name}`, async () => {
      const failed = (await verify(doc))?.checks.find(({ outcome }) => outcome === 'failed');
      assert.equal(failed?.name, check);
    });
  }

  it('proves nothing if any character of the evidence was changed', async () => {
    for (const { name, doc } of vectors.documents) {
      const { notes, entries, consistency, ...rest } = doc;
      const evidence = { notes, entries, consistency } as unknown as JsonObject;
      for (const changed of changes(evidence, 6)) {
        const finding = await verify(
          JSON.parse(JSON.stringify({ ...rest, ...(changed as JsonObject) })),
        );
        assert.notEqual(finding?.valid, true, `${name}: ${JSON.stringify(changed)}`);
      }
    }
  });

  it('has a vector for every rule that it can prove', () => {
    const proven = new Set(vectors.documents.map(({ doc }) => doc['rule']));
    assert.deepEqual(
      Object.keys(RULES).filter((rule) => !proven.has(rule)),
      // An entry over 65,535 bytes does not fit into a bundle.
      ['entry_size'],
    );
  });
});
