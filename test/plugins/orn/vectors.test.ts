// Vectors of the orchestration layer that an independent implementation computed: signed answers match them.
// test/vectors/orn.json; gateway/API.md §10.4.

import assert from 'node:assert/strict';
import { drawer, shuffle } from '../../../plugins/orn/shapley.ts';
import { run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';
import { ownVectors } from '../../support/vectors.ts';

interface Vector {
  readonly name: string;
  readonly request: object;
  readonly result: Readonly<Record<string, unknown>>;
}

const vectors = ownVectors('orn') as {
  readonly permutations: readonly { seed: number; agents: number; first: number[][] }[];
  readonly sharp: readonly Vector[];
  readonly backprop: readonly Vector[];
  readonly average: readonly Vector[];
};

describe('the vectors of orn', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  for (const { seed, agents, first } of vectors.permutations) {
    it(`draws ${String(agents)} agents from the seed ${String(seed)}`, () => {
      const draw = drawer(seed);
      const order = new Uint32Array(agents);
      for (const expected of first) {
        shuffle(order, draw);
        assert.deepEqual([...order], expected);
      }
    });
  }

  for (const [route, set] of [
    ['sharp', vectors.sharp],
    ['backprop', vectors.backprop],
    ['declare', vectors.average],
  ] as const) {
    for (const { name, request, result } of set) {
      it(`${route}: ${name}`, async () => {
        const path = `/api/v1/orn/${route}`;
        const { status, json, text } = await running.post(path, request, { key: running.sandbox });
        assert.equal(status, 200, text);
        const signed = Object.keys(result).map((member) => [member, json.receipt[member]]);
        assert.deepEqual(Object.fromEntries(signed), result);
      });
    }
  }
});
