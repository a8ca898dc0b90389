// The read-only view of a log for one plugin. It shows the rows of that plugin only.

import type { Log } from '../../log/index.ts';
import type { LogView } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { covering, windowClosed } from '../routes/published.ts';
import { erasureOf } from '../tenants/erasure.ts';

/** A view of a log for the plugin of this name. */
export function logView(gateway: Gateway, log: Log, plugin: string): LogView {
  const prefix = `${plugin}/`;
  let began_ms = log.number === 1 ? 0 : undefined;
  return {
    kind: log.kind,
    number: log.number,
    origin: log.origin,
    vkey: log.vkey,
    size: () => log.size(),
    published: () => log.published(),
    whenPublished: (size, signal) => log.whenPublished(size, signal),
    entry: (index) => log.entry(index),
    indexOfEntry: (entry_id) => log.indexOfEntry(entry_id),
    indexOfHash: (leaf_hash) => log.indexOfHash(leaf_hash),
    leafHash: (index) => log.leafHash(index),
    checkpointAt: (size) => log.checkpointAt(size),
    inclusion: (index, size) => log.inclusion(index, size),
    consistency: (from, to) => log.consistency(from, to),
    rootAt: (size) => log.rootAt(size),
    lookup: (question, page) => log.lookup(question, page),
    chain: (question, page) => log.chain(question, page),
    absence: (question) => log.absence(question),
    covering: (size) => covering(log, size),
    windowClosed: (to_ms, wait_ms) =>
      windowClosed(log, to_ms, { wait_ms, now: () => gateway.now() }),
    surfaces: () => log.surfaces(),
    manifestOfHash: (hash) => log.manifestOfHash(hash),
    manifests: (range) => log.manifests(range),
    entitiesOf: (tenant_ref, limit, after) => log.entitiesOf(tenant_ref, limit, after),
    receiptKeys: () => log.receiptKeys(),
    beganMs: () => (began_ms ??= issuedMs(log, 0)),
    erasure: (entry_id) => erasureOf(gateway.served[log.kind], entry_id),
    receipt: (index) => gateway.receipt(log, index),
    row: (key) => log.row(prefix + key),
    async rows(rest, options = {}) {
      const { after } = options;
      const found = await log.rows(prefix + rest, {
        ...options,
        ...(after === undefined ? {} : { after: prefix + after }),
      });
      return found.map(([key, value]) => [key.slice(prefix.length), value] as const);
    },
  };
}

function issuedMs(log: Log, index: number): number {
  const text = log.entry(index);
  if (text === null) throw new Error(`${log.origin} has no entry ${String(index)}`);
  return (JSON.parse(text) as { readonly issued_at_ms: number }).issued_at_ms;
}
