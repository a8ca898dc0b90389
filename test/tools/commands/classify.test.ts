// Tests of tools/commands/classify.ts.

import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { classify } from '../../../tools/commands/classify.ts';

async function run(input: string): Promise<{ code: number; lines: Record<string, unknown>[] }> {
  const output = new PassThrough();
  const [code, out] = await Promise.all([
    classify(Readable.from([input]), output).finally(() => output.end()),
    text(output),
  ]);
  return {
    code,
    lines: out
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

describe('actlog classify', () => {
  it('answers each line in order, hiring by default', async () => {
    const { code, lines } = await run(
      '{"text":"Schedule the interview for Monday"}\n\n{"text":"Muslims are vermin.","domain":"general"}\n',
    );
    assert.equal(code, 0);
    assert.deepEqual(
      lines.map((line) => [line['classification'], line['domain']]),
      [
        ['SAFE', 'hiring'],
        ['VIOLATION', 'general'],
      ],
    );
    const classifier = lines[0]?.['classifier'] as Record<string, string>;
    assert.match(classifier['weights_sha256'] ?? '', /^[0-9a-f]{64}$/);
  });

  it('answers ERROR for a line that it cannot parse, continues, and exits 1', async () => {
    const { code, lines } = await run(
      'nonsense\n{"text":7}\n[]\n{"text":""}\n{"text":"Good morning"}\n',
    );
    assert.equal(code, 1);
    assert.deepEqual(
      lines.map((line) => line['classification']),
      ['ERROR', 'ERROR', 'ERROR', 'ERROR', 'SAFE'],
    );
  });
});
