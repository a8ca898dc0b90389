// A child process of commit-points.test.ts: appends to a log, and kills itself at the n-th occurrence of the named
// commit point. Before that it has written all acknowledged entries to stdout. Arguments: folder, point, n.

import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { openLog, openThreads } from '../../log/index.ts';
import { ENTRY, NOTE as NOTE_ROW } from '../../log/store/layout.ts';
import type { Store, Write } from '../../log/store/store.ts';
import { note, NOTE, TENANT } from '../log/write/kept-log.ts';
import { openWithWrite } from '../log/store/with-write.ts';

const [folder = '', point = '', nth = '1'] = process.argv.slice(2);
let left = Number(nth);

const die = (): void => {
  left -= 1;
  // SIGKILL to the own process takes effect immediately: nothing after this line runs.
  if (left === 0) process.kill(process.pid, 'SIGKILL');
};
const at = (name: string): void => {
  if (name === point) die();
};

/** The name of the commit point at a batch. */
function kindOf(writes: readonly Write[]): string {
  const texts = writes.flatMap((one) =>
    one.key[0] === ENTRY && one.type === 'put' ? [Buffer.from(one.value).toString()] : [],
  );
  if (texts.some((text) => text.includes('"type":"log.open.v1"'))) return 'first-batch';
  if (texts.some((text) => text.includes('"type":"log.map_head.v1"'))) return 'map-head';
  if (texts.length > 0) return 'round';
  return writes.some(({ key }) => key[0] === NOTE_ROW) ? 'note' : 'other';
}

const open = (path: string): Promise<Store> =>
  openWithWrite(path, async (writes, write) => {
    const kind = kindOf(writes);
    at(`before-${kind}`);
    await write(writes);
    at(`after-${kind}`);
  });

const say = (what: object): void => {
  writeSync(1, `${JSON.stringify(what)}\n`);
};

const log = await openLog({
  data: folder,
  checkpoints: join(folder, 'checkpoints'),
  kind: 'live',
  origin_base: 'log.example',
  checkpoint_interval_ms: 5,
  threads: openThreads({ inline: true }),
  types: [NOTE],
  store: open,
  cosign: (offer) => {
    at('witness');
    return Promise.resolve({ note: offer.note, cosignatures: 0 });
  },
});
say({ note: log.published().note });
log.onPublished((published) => {
  say({ note: published.note });
});
await log.declare([NOTE]);
await log.registerTenant(TENANT, '0'.repeat(64));
// Points between entries are reached in time; the log is closed only if the point is part of closing.
const last = point.endsWith('-close') ? 400 : 40_000;
for (let i = 0; i < last; i += 1) {
  const group = [note(`case-${String(i % 5)}`), note(`case-${String(i % 7)}`)];
  for (const { index, text } of await log.append(group)) say({ index, text });
}
at('before-close');
await log.close();
at('after-close');
