// The export of a long session: entries a second without proofs, each record with its chain and ES256 signature, and
// the memory that streaming it takes. gateway/API.md §12.3.

import { join } from 'node:path';
import { KeyFiles } from '../../gateway/host/key-files.ts';
import { PluginKeys } from '../../gateway/host/plugin-keys.ts';
import { openSignPool } from '../../log/index.ts';
import { readCatalog } from '../../plugins/index.ts';
import exported, { airService, sessionBatch, sessionChain } from '../../plugins/exports/index.ts';
import type { LogView, PluginHost } from '../../plugins/contract/index.ts';
import { inFlight, openBenchLog, rowDraft, temporaryFolder } from './bench-log.ts';
import { stealMeter } from './figure.ts';
import type { Bench } from './figure.ts';

const GROUP = 64;
const SESSION = 's'.repeat(42) + 'w';

/** Time and memory of one session's export. */
export const exportSession: Bench = {
  name: 'export',
  run: async ({ quick }) => {
    const entries = quick ? 10_000 : 100_000;
    const folder = await temporaryFolder();
    const { log, close } = await openBenchLog(folder.path);
    const pool = openSignPool({ threads: true });
    try {
      const draft = { ...rowDraft({ item: 'i' }), members: { item: 'i', session_ref: SESSION } };
      const group = Array.from({ length: GROUP }, () => draft);
      await inFlight(Math.ceil(entries / GROUP), () => log.append(group), 8);
      const files = await KeyFiles.open(join(folder.path, 'keys'));
      const keys = await PluginKeys.open([exported], files, pool);
      const host = {
        settings: {},
        catalog: readCatalog,
        signers: (kind, name) => keys.signers('exports', name, kind),
        url: (path) => `https://bench.example${path}`,
      } as Partial<PluginHost> as PluginHost;
      const view = log as unknown as LogView;
      const session = await sessionChain(view, SESSION, await log.whenPublished(log.size()));
      // The thread that signs runs in an idle server too.
      await host.signers('live', 'air')[0].signAll([Buffer.alloc(32)]);
      globalThis.gc?.();
      const idle = process.memoryUsage.rss();
      let peak = idle;
      let bytes = 0;
      const steal = stealMeter();
      const start = performance.now();
      for await (const chunk of sessionBatch(airService(host), view, session, false)) {
        bytes += (chunk as string).length;
        peak = Math.max(peak, process.memoryUsage.rss());
      }
      const seconds = (performance.now() - start) / 1000;
      const parts = { entries: session.count, entries_per_s: session.count / seconds, bytes };
      const common = { parts, steal: steal() };
      return [
        {
          ...common,
          name: 'export.session',
          what: `export of a session of ${String(entries)} entries, without proofs`,
          unit: 's',
          better: 'lower',
          at_least: entries / 20_000,
          aim: entries / 40_000,
          value: seconds,
        },
        {
          ...common,
          name: 'export.memory',
          what: 'memory above idle while it streams',
          unit: 'MB',
          better: 'lower',
          at_least: 100,
          aim: 50,
          value: (peak - idle) / 2 ** 20,
        },
      ];
    } finally {
      await pool.close();
      await close();
      await folder.remove();
    }
  },
};
