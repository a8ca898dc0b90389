// The import rules of eslint.config.js, evaluated by ESLint: which file may import which specifier. CONTRIBUTING.md
// describes them.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { ESLint, type Linter } from 'eslint';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Patterns {
  patterns: { regex: string }[];
}

const allowed: readonly (readonly [file: string, specifier: string])[] = [
  ['log/write/sequencer.ts', 'node:crypto'],
  ['log/merkle/tile-hashes.ts', 'merkletreejs'],
  ['log/rules/presets.ts', '../../catalogs/surfaces.json'],
  ['log/map/check.ts', '../crypto/suite.ts'],
  ['log/verify/receipt.ts', '../note/checkpoint.ts'],
  ['plugins/contract/index.ts', '../../log/index.ts'],
  ['plugins/index.ts', './classify/index.ts'],
  ['plugins/clear/pages/dashboard.ts', '../../contract/page.ts'],
  ['plugins/clear/pages/dashboard.ts', 'uplot'],
  ['plugins/silence/index.ts', '../contract/index.ts'],
  ['plugins/gate/routes.ts', '../classify/index.ts'],
  ['plugins/foundry/trigger/routes.ts', '../../clear/index.ts'],
  ['plugins/compliance/verify.ts', '../../log/verify.ts'],
  ['plugins/exports/air/view.ts', '../../../log/cose/portable.ts'],
  ['plugins/require-receipt/permit.ts', '../../log/verify.ts'],
  ['plugins/verifiers.ts', '../log/verify.ts'],
  ['plugins/classify/engine/rules.ts', '../entries.ts'],
  ['plugins/classify/engine/rules.ts', '../../contract/index.ts'],
  ['plugins/classify/engine/rules.ts', '../../../catalogs/classify/rules.json'],
  ['gateway/host/host.ts', '../plugins/contract/index.ts'],
  ['gateway/main.ts', '../plugins/index.ts'],
  ['gateway/routes/verify.ts', '../../log/verify.ts'],
  ['gateway/app.ts', 'koa'],
  ['tools/data-logs.ts', '../log/operate.ts'],
  ['tools/commands/restore.ts', '../../log/index.ts'],
  ['tools/verify/check.ts', '../../log/verify.ts'],
  ['test/log/map/trie.test.ts', '../../../log/map/trie.ts'],
];

const refused: typeof allowed = [
  ['log/log.ts', '../plugins/contract/index.ts'],
  ['log/store/layout.ts', '../../gateway/config.ts'],
  ['log/read/reader.ts', '../../tools/build.ts'],
  ['log/read/reader.ts', 'koa'],
  ['log/read/reader.ts', '@koa/router'],
  ['log/verify.ts', 'node:crypto'],
  ['log/verify/receipt.ts', 'node:buffer'],
  ['log/encoding/bytes.ts', 'node:buffer'],
  ['log/crypto/portable.ts', 'node:crypto'],
  ['log/map/check.ts', 'node:crypto'],
  ['log/note/note.ts', 'node:crypto'],
  ['log/note/note.ts', '../../plugins/contract/index.ts'],
  ['plugins/contract/index.ts', '../../log/errors.ts'],
  ['plugins/contract/index.ts', '../../gateway/host/host.ts'],
  ['plugins/clear/pages/dashboard.ts', '../../contract/index.ts'],
  ['plugins/clear/pages/dashboard.ts', '../usage.ts'],
  ['plugins/clear/pages/dashboard.ts', 'node:fs'],
  ['plugins/silence/index.ts', '../../log/types.ts'],
  ['plugins/silence/index.ts', '../../gateway/config.ts'],
  ['plugins/silence/index.ts', '../classify/entries.ts'],
  ['plugins/silence/index.ts', '../classify/engine/index.ts'],
  ['plugins/silence/index.ts', '../index.ts'],
  ['plugins/silence/routes.ts', '../../log/index.ts'],
  ['plugins/silence/routes.ts', '../../log/verify.ts'],
  ['plugins/silence/routes.ts', '../classify/index.ts'],
  ['plugins/exports/scitt/routes.ts', '../../../log/cose/portable.ts'],
  ['plugins/foundry/trigger/routes.ts', '../../nap/index.ts'],
  ['plugins/compliance/verify.ts', '../../log/index.ts'],
  ['plugins/require-receipt/permit.ts', '../../log/index.ts'],
  ['plugins/require-receipt/permit.ts', '../contract/index.ts'],
  ['plugins/require-receipt/permit.ts', '../gate/index.ts'],
  ['plugins/classify/engine/rules.ts', '../../silence/rules.ts'],
  ['plugins/classify/engine/rules.ts', '../../../log/map/key.ts'],
  ['gateway/routes/log.ts', '../../log/read/reader.ts'],
  ['gateway/host/host.ts', '../plugins/classify/index.ts'],
  ['gateway/main.ts', '../tools/actlog.ts'],
  ['gateway/open.ts', '../log/operate.ts'],
  ['plugins/silence/index.ts', '../../log/operate.ts'],
  ['tools/data-logs.ts', '../log/store/data-folder.ts'],
  ['tools/commands/fsck.ts', '../../log/operate/fsck/fsck.ts'],
  ['tools/commands/fsck.ts', '../../log/types.ts'],
];

describe('the import floors', () => {
  const eslint = new ESLint({ cwd: root });

  async function isRefused(file: string, specifier: string): Promise<boolean> {
    const config = (await eslint.calculateConfigForFile(file)) as Linter.Config;
    const rule = config.rules?.['no-restricted-imports'] as [number, Patterns] | undefined;
    if (!rule) return false;
    return rule[1].patterns.some(({ regex }) => new RegExp(regex, 'iu').test(specifier));
  }

  for (const [file, specifier] of allowed) {
    it(`let ${file} import ${specifier}`, async () => {
      assert.equal(await isRefused(file, specifier), false);
    });
  }
  for (const [file, specifier] of refused) {
    it(`keep ${specifier} out of ${file}`, async () => {
      assert.equal(await isRefused(file, specifier), true);
    });
  }
});
