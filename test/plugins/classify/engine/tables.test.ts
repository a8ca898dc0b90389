// Tests of plugins/classify/engine/tables.ts.

import assert from 'node:assert/strict';
import { catalogUrl, readCatalog, readCatalogBytes } from '../../../../plugins/contract/index.ts';
import {
  TABLE_FILES,
  WEIGHTS,
  checkTables,
  sha256,
} from '../../../../plugins/classify/engine/tables.ts';
import type { Manifest } from '../../../../plugins/classify/engine/tables.ts';

const manifest = readCatalog('classify/manifest.json') as unknown as Manifest;

describe('classifier tables', () => {
  it('have the digests of the manifest', () => {
    for (const file of [...TABLE_FILES, WEIGHTS]) {
      assert.equal(sha256(readCatalogBytes(`classify/${file}`)), manifest.files[file], file);
    }
  });

  it('are refused if one digest differs', () => {
    const files = { ...manifest.files, 'rules/hiring.json': '0'.repeat(64) };
    assert.throws(() => {
      checkTables({ ...manifest, files });
    }, /rules\/hiring\.json has sha256/);
  });

  it('stay inside catalogs/', () => {
    assert.throws(() => catalogUrl('../package.json'), /leaves catalogs/);
  });

  it('have a rule id of the same domain for every rule', () => {
    const seen = new Set<string>();
    for (const file of TABLE_FILES.filter((name) => name.startsWith('rules/'))) {
      const { rules } = readCatalog(`classify/${file}`) as {
        rules: { id: string; milli: number; any: string[] }[];
      };
      assert.ok(rules.length > 0, file);
      for (const { id, milli, any } of rules) {
        assert.match(id, /^[a-z_]+\.[a-z_]+$/);
        assert.ok(!seen.has(id), id);
        assert.ok(milli >= 0 && milli <= 1000 && any.length > 0, id);
        seen.add(id);
      }
    }
  });
});
