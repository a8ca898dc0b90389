// Plugins bring the verifiers of their documents; `actlog verify` also uses those of the plugins in PLUGINS.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { orderPlugins } from '../../../gateway/host/host.ts';
import { definePlugin } from '../../../plugins/contract/index.ts';
import type { AnyPlugin, Verifier } from '../../../plugins/contract/index.ts';
import { PLUGINS } from '../../../plugins/index.ts';
import { pluginVerifiers, verifiers } from '../../../plugins/verifiers.ts';
import { run } from '../../gateway/running.ts';
import { actlog } from '../../support/actlog.ts';

/** A plugin with a verifier, written in JavaScript. */
const SOURCE = `
const finding = (valid, summary) => ({
  ...{ valid, verdict: valid ? 'VALID' : 'INVALID', summary, checks: [], facts: {}, not_proven: [] },
});
export default {
  contract: 2, name: 'notes', title: 'Notes', types: [], setup: () => ({}),
  verifiers: [{
    kind: 'note', title: 'a note', schemas: ['notes-note-v1'],
    originOf: () => null,
    check: ({ sum, parts }) => finding(parts.reduce((a, b) => a + b, 0) === sum, 'the parts add up'),
  }],
};
`;

describe('the verifiers of plugins', () => {
  it('are the same as in the list for browsers', () => {
    const declared = PLUGINS.flatMap(({ verifiers: own = [] }) => own);
    const kinds = (list: readonly Verifier[]): readonly string[] =>
      list.map(({ kind }) => kind).sort();
    assert.deepEqual(kinds(declared), kinds(pluginVerifiers));
    for (const verifier of declared) assert.ok(pluginVerifiers.includes(verifier), verifier.kind);
  });

  it('are refused with the kind of another verifier, or without a required member', () => {
    const check = (): never => assert.fail();
    const plugin = (
      kind: unknown,
      more: object = { title: 't', originOf: () => null, check },
    ): AnyPlugin =>
      definePlugin({
        contract: 2,
        name: 'notes',
        title: 'Notes',
        types: [],
        verifiers: [{ kind, ...more } as never],
        setup: () => ({}),
      });
    const all = (one: AnyPlugin) => () => orderPlugins([...PLUGINS, one]);
    assert.doesNotThrow(all(plugin('note')));
    for (const { kind } of verifiers) {
      assert.throws(
        all(plugin(kind)),
        /^PluginError: plugin notes: has the verifier \w+ a second time$/,
      );
    }
    assert.throws(all(plugin('kit')), /has the verifier kit a second time/);
    assert.throws(all(plugin('A Note')), /has a verifier with the kind A Note/);
    assert.throws(all(plugin('note', {})), /the verifier note needs title, originOf and check/);
  });

  it('of PLUGINS check their documents on the command line', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-verifier-'));
    const running = await run();
    try {
      const at = (name: string): string => join(folder, name);
      await writeFile(at('kit.json'), (await running.get('/export/offline-verify-kit.json')).text);
      await writeFile(at('notes.mjs'), SOURCE);
      const note = { schema: 'notes-note-v1', sum: 3, parts: [1, 2] };
      await writeFile(at('good.json'), JSON.stringify(note));
      await writeFile(at('bad.json'), JSON.stringify({ ...note, sum: 4 }));
      const verify = (file: string, env: Record<string, string> = {}) =>
        actlog(['verify', at(file), '--kit', at('kit.json'), '--json'], { env });
      const env = { PLUGINS: at('notes.mjs') };
      const good = await verify('good.json', env);
      assert.equal(good.code, 0, good.stderr);
      assert.equal(good.json.kind, 'note');
      assert.equal((await verify('bad.json', env)).code, 1);
      assert.equal((await verify('good.json')).code, 2, 'unknown without the plugin');
    } finally {
      await running.close();
      await rm(folder, { recursive: true });
    }
  });
});
