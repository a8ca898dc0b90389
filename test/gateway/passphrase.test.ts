// Tests of gateway/passphrase.ts.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, readConfig } from '../../gateway/config.ts';
import { passphraseOf } from '../../gateway/passphrase.ts';

describe('the passphrase of the key files', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-passphrase-'));
  });
  after(() => rm(folder, { recursive: true }));

  const read = async (text: string): Promise<string | undefined> => {
    const file = join(folder, 'passphrase');
    await writeFile(file, text);
    return passphraseOf(readConfig({ KEY_PASSPHRASE_FILE: file }).config);
  };
  const refused = (reason: RegExp) => (error: unknown) =>
    error instanceof ConfigError && reason.test(error.message);

  it('is the text of the file without the trailing line end', async () => {
    assert.equal(await read('open sesame\n'), 'open sesame');
    assert.equal(await read('open sesame\r\n'), 'open sesame');
    assert.equal(await read(' two\nlines \n\n'), ' two\nlines \n');
  });

  it('is absent if no file is named', () => {
    assert.equal(passphraseOf(readConfig({}).config), undefined);
  });

  it('is refused if the file is empty or missing', async () => {
    for (const text of ['', '\n']) await assert.rejects(read(text), refused(/is empty$/));
    const { config } = readConfig({ KEY_PASSPHRASE_FILE: join(folder, 'none') });
    assert.throws(() => passphraseOf(config), refused(/cannot be read/));
  });
});
