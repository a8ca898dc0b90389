// A child process of carry-points.test.ts: it closes the first live log, and opens the second and a gateway on both,
// as `actlog restore --successor` and the next start do. It kills itself after the first write of an entry of the
// succession, and exits normally if no such entry remains to be written. Argument: the data folder.

import { ClassicLevel } from 'classic-level';
import { pino } from 'pino';
import { readConfig } from '../../gateway/config.ts';
import { openGateway } from '../../gateway/open.ts';
import { openRegister, openThreads } from '../../log/index.ts';
import { openSuccessor } from '../../log/operate/succession.ts';
import { broughtTypes } from '../../tools/brought-types.ts';
import { registerPlace } from '../../gateway/config.ts';

const [data = ''] = process.argv.slice(2);

const PARTS =
  /"type":"(log\.closed|log\.open|log\.entry_type|log\.tenant|succession\.carry|[a-z-]+\.carried)\.v1"/;

interface Batch {
  put(key: Uint8Array, value: Uint8Array): unknown;
  write(options: object): Promise<void>;
}
// Patches LevelDB itself: the write is on disk, and no code of the log has continued after it.
const level = ClassicLevel.prototype as unknown as { batch(...given: unknown[]): Batch };
const { batch: made } = level;
level.batch = function (this: unknown, ...given) {
  const batch = made.apply(this, given);
  if (given.length > 0) return batch;
  let isPart = false;
  const [put, write] = [batch.put.bind(batch), batch.write.bind(batch)];
  batch.put = (key, value) => {
    isPart ||= PARTS.test(Buffer.from(value).toString());
    return put(key, value);
  };
  batch.write = async (options) => {
    await write(options);
    if (isPart) process.kill(process.pid, 'SIGKILL');
  };
  return batch;
};

const sources = readConfig({
  ...{ PORT: '0', THREADS: 'off', LOG_ORIGIN: 'test.example', BASE_URL: 'http://test.example' },
  ...{ CHECKPOINT_INTERVAL_MS: '50', DATA_DIR: data },
});
const threads = openThreads({ inline: true });
const types = await broughtTypes({ PLUGINS: [] });
const { register } = await openRegister(registerPlace(sources.config));
await openSuccessor({ ...{ data, kind: 'live', number: 1 }, register, types, threads });
await threads.close();
const opened = await openGateway(sources, { logger: pino({ level: 'silent' }) });
await opened.close();
