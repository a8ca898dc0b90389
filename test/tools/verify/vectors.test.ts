// tools/verify/vectors.ts and the command `actlog vectors`: a verdict for each vector.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { native } from '../../../log/crypto/native.ts';
import { verdicts } from '../../../tools/verify/vectors.ts';
import type { Json } from '../../../log/index.ts';
import { vectors } from '../../support/absence-vectors.ts';
import { actlog } from '../../support/actlog.ts';
import { sharedVectors } from '../../support/vectors.ts';

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const linesOf = (text: string): Record<string, Json>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, Json>);

describe('actlog vectors', () => {
  it('prints the verdict on each absence document, and why others are refused', async () => {
    const { code, stdout } = await actlog(['vectors', pathOf('../../vectors/absence.json')]);
    assert.equal(code, 0);
    const lines = linesOf(stdout);
    assert.deepEqual(
      lines.slice(0, vectors.documents.length),
      vectors.documents.map(({ name, result }) => ({ name, verdict: result.verdict })),
    );
    const refused = lines.slice(vectors.documents.length);
    assert.equal(refused.length, vectors.refused.length);
    for (const { refused: reason } of refused) assert.match(reason as string, /^(document|step)/);
  });

  it('gives each Ed25519 vector the verdict of the library, with both suites', async function () {
    const file = pathOf('../../../../shared/vectors/ed25519/vectors.json');
    if (!existsSync(file)) this.skip(); // read from ../shared/vectors
    const vectors = sharedVectors('ed25519/vectors.json') as Json;
    const expected = verdicts(vectors, native);
    assert.equal(expected.filter(({ valid }) => valid === true).length, 43);
    const { stdout } = await actlog(['vectors', file, '--suite', 'portable']);
    assert.deepEqual(linesOf(stdout), expected);
  });

  it('reports unknown vectors', async () => {
    const { code, stderr } = await actlog(['vectors', pathOf('../../../package.json')]);
    assert.equal(code, 2);
    assert.match(stderr, /these are no vectors that actlog knows/);
    assert.throws(() => verdicts([{ key: 1 }], native), /a vector has number, key, msg and sig/);
  });
});
