// Tests of tools/command-line.ts.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { ACTLOG, start } from '../support/actlog.ts';
import { withKeyIds } from '../../tools/command-line.ts';

describe('command line', () => {
  const KID = '-eXf-4LOSQODQ7hVQGt21xt32qIbIcDFTuFcguKFYeQ';

  it('accepts a key id that begins like an option', () => {
    assert.equal(KID.length, 43);
    assert.deepEqual(withKeyIds(['keys', 'revoke-receipt', KID, '--log', 'live']), [
      ...['keys', 'revoke-receipt', '--log', 'live', '--', KID],
    ]);
    assert.deepEqual(withKeyIds(['keys', 'revoke-receipt', '--log', 'live', '--', KID]), [
      ...['keys', 'revoke-receipt', '--log', 'live', '--', KID],
    ]);
  });

  it('leaves all other arguments where they are', () => {
    for (const args of [
      [],
      ['serve', '--data', '-'],
      ['verify', '-', '--key', KID],
      ['keys', 'list', '-h'],
    ])
      assert.deepEqual(withKeyIds(args), args);
  });

  it('completes commands, options and their values, and leaves files to the shell', async () => {
    const complete = async (...words: string[]): Promise<string[]> => {
      const said = await text(start(['complete', '--', ...words]).stdout);
      return said.split('\n').map((line) => line.split('\t', 1)[0] ?? '');
    };
    const [commands, options, values, file, script] = await Promise.all([
      complete('ver'),
      complete('verify', '--k'),
      complete('fsck', '--log', ''),
      complete('verify', 'rec'),
      text(start(['completion', 'bash']).stdout),
    ]);
    assert.deepEqual(commands, ['verify', ':4', '']);
    assert.deepEqual(options, ['--kit', '--key', ':4', '']);
    assert.deepEqual(values, ['live', 'sandbox', 'both', ':4', '']);
    // Without the directive that excludes files, the shell completes them itself.
    assert.deepEqual(file, [':0', '']);
    assert.match(script, /actlog complete --/);
  });

  it('exits with its own code if the reader of its output has closed the pipe', async () => {
    const child = start(['fsck', '--help']);
    child.stdout.destroy();
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    assert.deepEqual([said, code], ['', 0]);
  });

  it('stops reading endless input if the reader of its output has closed the pipe', async () => {
    const child = start(['classify']);
    // More than a pipe buffers, so that unwritten output always remains.
    const lines = '{"text":"Good morning"}\n'.repeat(4_000);
    const more = (): void => void child.stdin.write(lines);
    child.stdin.on('error', () => {}).on('drain', more);
    more();
    await once(child.stdout, 'data');
    child.stdout.destroy();
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    assert.deepEqual([said, code], ['', 0]);
  });

  it('reports that its output cannot be written', async function () {
    if (process.platform !== 'linux') this.skip();
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [...ACTLOG, 'fsck', '--help'], {
      stdio: ['ignore', full, 'pipe'],
    });
    assert.ok(child.stderr);
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    closeSync(full);
    assert.deepEqual([said, code], ['actlog: ENOSPC: no space left on device, write\n', 1]);
  });
});
