// How fast `actlog monitor` goes through a log over HTTP, every rule and every signature of it, against
// what the signatures alone cost on all cores.

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { native } from '../../log/index.ts';
import { STATEMENT_BYTES, temporaryFolder } from './bench-log.ts';
import { builtLog } from './built-log.ts';
import { runCommand, startService } from './child.ts';
import { interleave, stealMeter } from './figure.ts';
import type { Bench } from './figure.ts';

/** Monitor entries/s ÷ (native verify/s of one thread × cores). */
export const monitor: Bench = {
  name: 'monitor',
  run: async ({ quick }) => {
    const entries = quick ? 20_000 : 200_000;
    const cores = availableParallelism();
    const data = await builtLog({ entries, keys: 'one each' });
    const service = await startService(data.path);
    const states = await temporaryFolder();
    let run = 0;
    try {
      const steal = stealMeter();
      const parts = await interleave(quick ? 2 : 5, {
        entries: async () => {
          run += 1;
          const state = join(states.path, String(run));
          const start = performance.now();
          const args = ['monitor', service.url, '--once', '--log', 'live', '--json'];
          await runCommand([...args, '--state', state]);
          return entries / ((performance.now() - start) / 1000);
        },
        verify_one_thread: async () => verifications(quick ? 3_000 : 15_000),
      });
      return [
        {
          name: 'monitor.entries',
          what: 'monitor entries/s ÷ (native verify/s of one thread × cores)',
          unit: 'ratio',
          better: 'higher',
          at_least: 0.5,
          aim: 0.8,
          value: parts.entries / (parts.verify_one_thread * cores),
          parts: { ...parts, cores, log_entries: entries },
          steal: steal(),
        },
      ];
    } finally {
      await service.stop();
      await data.close();
      await states.remove();
    }
  },
};

/** By the library that the monitor uses: libsodium where it can be loaded. */
function verifications(count: number): number {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const message = randomBytes(STATEMENT_BYTES);
  const signature = sign(null, message, privateKey);
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const key = Buffer.from(x, 'base64url');
  const start = performance.now();
  for (let i = 0; i < count; i += 1) native.verify(key, message, signature);
  return count / ((performance.now() - start) / 1000);
}
