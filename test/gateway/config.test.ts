// The settings of the gateway: defaults, sources, and errors that name the setting.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { ConfigError, configTable, readConfig, SETTINGS } from '../../gateway/config.ts';
import { pluginSettingRows, pluginSettings } from '../../gateway/host/plugin-settings.ts';
import Type from 'typebox';
import { notes } from './notes.ts';

const refusal = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ConfigError);
  assert.match(error.message, pattern);
  return true;
};

describe('configuration', () => {
  let folder: string;
  const file = (value: unknown): string => {
    const path = join(folder, 'config.json');
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
    return path;
  };
  before(() => (folder = mkdtempSync(join(tmpdir(), 'actlog-config-'))));
  after(() => rmSync(folder, { recursive: true }));

  it('has the defaults of gateway/API.md §3.3 and §4.2', () => {
    const { config } = readConfig({});
    assert.equal(config.PORT, 8080);
    assert.equal(config.ANONYMOUS_WRITES, 'sandbox');
    assert.deepEqual(
      [
        config.RATE_SANDBOX,
        config.RATE_ANONYMOUS_WRITES,
        config.RATE_LIVE,
        config.RATE_PUBLIC_READS,
      ],
      [60, 30, 600, 600],
    );
    assert.deepEqual([config.MAX_BODY_BYTES, config.MAX_MESSAGE_BYTES], [256 * 1024, 32 * 1024]);
    assert.deepEqual([config.MAX_STRING_CHARS, config.MAX_METADATA_BYTES], [512, 64 * 1024]);
    assert.deepEqual([config.PAGE_DEFAULT, config.PAGE_MAX], [20, 100]);
    assert.equal(config.CHECKPOINT_INTERVAL_MS, 1000);
    assert.equal(config.IDEMPOTENCY_TTL_MS, 24 * 3_600_000);
  });

  it('reads a file, and the environment takes precedence', () => {
    const path = file({ PORT: 9000, LOG_LEVEL: 'warn' });
    const { config } = readConfig({ PORT: '9001' }, path);
    assert.equal(config.PORT, 9001);
    assert.equal(config.LOG_LEVEL, 'warn');
  });

  it('has a default page size that is at most the largest', () => {
    const small = { PAGE_MAX: '10' };
    assert.equal(readConfig(small).config.PAGE_DEFAULT, 10);
    assert.equal(readConfig({ ...small, PAGE_DEFAULT: '10' }).config.PAGE_DEFAULT, 10);
    const both = refusal(/^PAGE_DEFAULT is 20 and more than PAGE_MAX, which is 10$/);
    assert.throws(() => readConfig({ ...small, PAGE_DEFAULT: '20' }), both);
    assert.throws(() => readConfig({ PAGE_MAX: '10' }, file({ PAGE_DEFAULT: 20 })), both);
  });

  it('makes folders absolute', () => {
    const { config } = readConfig({ DATA_DIR: 'x', CHECKPOINT_DIR: 'y' });
    assert.ok(isAbsolute(config.DATA_DIR));
    assert.ok(isAbsolute(config.CHECKPOINT_DIR));
    assert.equal(readConfig({}).config.CHECKPOINT_DIR, '', 'the state folder has it');
  });

  for (const [name, value] of [
    ['PORT', '65536'],
    ['PORT', '1e3'],
    ['PORT', '-1'],
    ['RATE_LIMITS', 'yes'],
    ['BASE_URL', 'ftp://example.org'],
    ['BASE_URL', 'https://example.org/?a=b'],
    ['LOG_ORIGIN', 'a b'],
    ['LOG_ORIGIN', 'a+b'],
    ['LOG_ORIGIN', 'https://log.example'],
    ['MAX_JSON_DEPTH', '17'],
  ] as const) {
    it(`refuses ${name}=${value} by name`, () => {
      assert.throws(() => readConfig({ [name]: value }), refusal(new RegExp(`^${name} `)));
    });
  }

  it('refuses a file that is not an object of texts and numbers', () => {
    assert.throws(() => readConfig({}, file('[1]')), refusal(/must hold a JSON object/));
    assert.throws(() => readConfig({}, file('{"PORT":1,"PORT":2}')), refusal(/cannot be read/));
    assert.throws(() => readConfig({}, file({ PORT: [1] })), refusal(/^PORT must be/));
    assert.throws(() => readConfig({}, join(folder, 'missing.json')), refusal(/cannot be read/));
  });

  it('refuses a setting that neither the gateway nor a plugin has', () => {
    const sources = readConfig({}, file({ PROT: 1 }));
    assert.throws(() => pluginSettings([notes()], sources), refusal(/^PROT is no setting/));
  });

  it('gives a plugin the settings that it declares, validated', () => {
    const settings = Type.Object({
      NOTES_COLOUR: Type.Optional(
        Type.Union([Type.Literal('red'), Type.Literal('blue')], { description: 'A colour.' }),
      ),
      NOTES_PLACE: Type.String({ default: 'here' }),
      NOTES_LINES: Type.Integer({ minimum: 1, maximum: 90, default: 40, description: 'Lines.' }),
    });
    const plugin = { ...notes(), settings };
    const read = (env: Record<string, string>) =>
      pluginSettings([plugin], readConfig(env, file({ NOTES_COLOUR: 'red' }))).get('notes');
    const standard = { NOTES_COLOUR: 'red', NOTES_PLACE: 'here', NOTES_LINES: 40 };
    assert.deepEqual(read({}), standard);
    assert.deepEqual(read({ NOTES_COLOUR: 'blue' }), { ...standard, NOTES_COLOUR: 'blue' });
    assert.deepEqual(read({ NOTES_LINES: '90' }), { ...standard, NOTES_LINES: 90 });
    assert.throws(() => read({ NOTES_COLOUR: 'green' }), refusal(/plugin notes: NOTES_COLOUR/));
    for (const lines of ['91', '0', '4e1', 'many']) {
      assert.throws(() => read({ NOTES_LINES: lines }), refusal(/plugin notes: NOTES_LINES/));
    }
    const table = configTable(pluginSettingRows([plugin]));
    assert.match(table, /\| `NOTES_COLOUR` \| red \\\| blue \| {2}\| A colour\. \|/);
    assert.match(table, /\| `NOTES_LINES` \| integer 1\.\.90 \| `40` \| Lines\. \|/);
  });

  it('refuses a plugin that declares a setting of the gateway', () => {
    const plugin = { ...notes(), settings: Type.Object({ PORT: Type.String() }) };
    assert.throws(
      () => pluginSettings([plugin], readConfig({})),
      refusal(/declares the setting PORT/),
    );
  });

  it('prints each setting once in the table, with its default', () => {
    const lines = configTable().split('\n');
    assert.equal(lines.length, Object.keys(SETTINGS).length + 2);
    for (const line of lines) assert.equal(line.replaceAll('\\|', '').split('|').length, 6);
    assert.match(configTable(), /\| `PORT` \| integer 0\.\.65535 \| `8080` \|/);
  });
});
