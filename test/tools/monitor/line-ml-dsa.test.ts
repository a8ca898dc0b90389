// The monitor of a log that signs its checkpoints with ML-DSA-44 as well. log/FORMAT.md §5.2.

import assert from 'node:assert/strict';
import { mlDsaPublicKey, signMlDsa } from '../../../log/crypto/ml-dsa.ts';
import { native } from '../../../log/crypto/native.ts';
import { formatVkey, ML_DSA_KEY, mlDsaLine, mlDsaMessage } from '../../../log/note/note.ts';
import { isCommandError } from '../../../tools/command-line.ts';
import { Forge } from '../../support/forge.ts';
import { forgeVkey } from '../../support/serve-log.ts';
import { Monitor, grow } from './monitored.ts';

const SEED = new Uint8Array(32).fill(0x46);
const publicKey = mlDsaPublicKey(SEED);
const { origin } = new Forge();
const vkey = [formatVkey(native, origin, ML_DSA_KEY, publicKey), forgeVkey(origin)];

/** Adds a line of the ML-DSA-44 key to a note. The line signs the text of the note, or `text`. */
function signedTwice(note: string, text = note.slice(0, note.indexOf('\n\n') + 1)): string {
  const signature = signMlDsa(SEED, mlDsaMessage(origin, text, 0));
  return note + mlDsaLine(native, origin, publicKey, 0, signature);
}

describe('a monitor that knows the ML-DSA-44 key of a log', () => {
  let monitor: Monitor;
  beforeEach(async () => {
    monitor = await Monitor.start();
  });
  afterEach(() => monitor.close());

  it('reports for each checkpoint whether it has the line', async () => {
    await monitor.again({ vkey });
    const forge = new Forge().usual();
    monitor.server.put(forge);
    assert.equal(await monitor.look(), 'ok');
    const served = monitor.server.put(grow(forge, 1));
    served.note = signedTwice(served.note);
    assert.equal(await monitor.look(), 'ok');
    assert.deepEqual(
      monitor.told.looks.map(({ ml_dsa }) => ml_dsa),
      [false, true],
    );
  });

  it('reports a line that is not valid as an observation', async () => {
    await monitor.again({ vkey });
    const forge = new Forge().usual();
    const older = forge.note();
    const served = monitor.server.put(grow(forge, 1));
    served.note = signedTwice(served.note, older.slice(0, older.indexOf('\n\n') + 1));
    const document = await monitor.finding();
    assert.equal(document['rule'], 'checkpoint_ml_dsa');
    assert.equal(document['proof'], 'observed');
    assert.deepEqual(document['notes'], [served.note]);
  });

  it('reports a missing line only if it is required', async () => {
    await monitor.again({ vkey, requireMlDsa: true });
    const served = monitor.server.put(new Forge().usual());
    const document = await monitor.finding();
    assert.equal(document['rule'], 'checkpoint_ml_dsa');
    assert.deepEqual(document['notes'], [served.note]);
  });

  it('pins the key of a log that begins to have one, and refuses another one', async () => {
    const forge = new Forge().usual();
    const served = monitor.server.put(forge);
    assert.equal(await monitor.look(), 'ok');
    assert.equal(monitor.told.looks.at(-1)?.ml_dsa, undefined);
    await monitor.again({ vkey });
    served.note = signedTwice(served.note);
    assert.equal(await monitor.look(), 'ok');
    assert.equal(monitor.told.looks.at(-1)?.ml_dsa, true);
    const other = mlDsaPublicKey(new Uint8Array(32).fill(0x47));
    await monitor.again({
      vkey: [forgeVkey(origin), formatVkey(native, origin, ML_DSA_KEY, other)],
    });
    await assert.rejects(monitor.look(), isCommandError);
  });

  it('does not start if the line is required and nothing names the key', async () => {
    await monitor.again({ requireMlDsa: true });
    monitor.server.put(new Forge().usual());
    await assert.rejects(monitor.look(), isCommandError);
  });
});
