// What must hold of a cluster when everything is healed: all copies are equal, every acknowledged entry, row and erasure
// is there, nothing is there twice, and no secret is in a round or a snapshot.

import type { JsonObject } from '../../log/index.ts';
import { COPIES, positionOf, rowsOf } from './cluster-history.ts';
import type { ClusterNode } from './cluster-node.ts';
import type { ClusterRun } from './cluster-run.ts';
import { all, NOTE, PATIENCE_MS } from './subject.ts';
import { Broken } from './world/world.ts';

export async function checkEnd(run: ClusterRun): Promise<void> {
  await checkCopies(run);
  if (!run.torn) checkEntries(run);
  checkRows(run);
  checkSecrets(run);
}

/** All copies come to the same round, with the same rows, and show the same checkpoint. */
async function checkCopies({ nodes, world, server }: ClusterRun): Promise<void> {
  const [first, ...others] = nodes;
  if (first === undefined) return;
  const equal = (): boolean => {
    const sizes = new Set(nodes.map(({ gateway }) => gateway?.log.published().size ?? -1));
    const size = first.gateway?.log.size() ?? 0;
    return (
      sizes.size === 1 &&
      sizes.has(size) &&
      Object.entries(COPIES).every(([stream, folder]) =>
        nodes.every(
          (node) => positionOf(node, folder)?.seq === (server.tables.last(stream) ?? undefined),
        ),
      )
    );
  };
  if (!(await world.until(equal, PATIENCE_MS))) {
    const states = nodes.map(
      (node) =>
        `${node.name} at ${JSON.stringify(Object.values(COPIES).map((folder) => positionOf(node, folder)?.seq))}` +
        ` shows ${String(node.gateway?.log.published().size)} of ${String(node.gateway?.log.size())}`,
    );
    const last = Object.keys(COPIES).map((stream) => server.tables.last(stream));
    throw new Broken('copies', `${states.join(', ')}; the database is at ${JSON.stringify(last)}`);
  }
  for (const folder of Object.values(COPIES)) {
    const wanted = rowsOf(first, folder);
    for (const node of others) same(node, folder, wanted);
  }
}

function same(node: ClusterNode, folder: string, wanted: ReadonlyMap<string, string>): void {
  const rows = rowsOf(node, folder);
  for (const key of new Set([...rows.keys(), ...wanted.keys()])) {
    if (rows.get(key) !== wanted.get(key)) {
      throw new Broken(
        'copies',
        `${node.name} has another row ${JSON.stringify(key)} in ${folder}`,
      );
    }
  }
}

/** Every node shows the same entries: the acknowledged ones, each once. */
function checkEntries({ nodes, ledger, sent }: ClusterRun): void {
  let texts: string[] | null = null;
  for (const { gateway } of nodes) {
    if (gateway === null) continue;
    ledger.checkAll(gateway.log, false);
    ledger.checkKeys(gateway.log);
    texts ??= all(gateway.log);
  }
  const found = new Map<number, number>();
  for (const text of texts ?? []) {
    const { type, n } = JSON.parse(text) as JsonObject;
    if (type === NOTE.name) found.set(Number(n), (found.get(Number(n)) ?? 0) + 1);
  }
  for (const [n, times] of found) {
    if (times > 1)
      throw new Broken('appended twice', `n=${String(n)} is there ${String(times)} times`);
    if (!sent.has(n)) throw new Broken('entry from nowhere', `n=${String(n)}`);
  }
  for (const [n, state] of sent) {
    if (state === 'acknowledged' && !found.has(n))
      throw new Broken('receipt lost', `n=${String(n)}`);
  }
}

/** Every node has the same rows of the gateway's database, none older than the last acknowledged one. */
function checkRows({ nodes, rows, torn }: ClusterRun): void {
  const shown = nodes.map(({ gateway }) =>
    JSON.stringify([...(gateway?.store.counts ?? [])].sort()),
  );
  if (new Set(shown).size > 1) throw new Broken('rows', shown.join(' and '));
  for (const [name, { acknowledged, maybe }] of rows) {
    const value = nodes[0]?.gateway?.store.counts.get(name) ?? 0;
    if (acknowledged > 0 && value === 0 && !torn) throw new Broken('row lost', name);
    if (value !== 0 && !maybe.has(value)) throw new Broken('row from nowhere', name);
  }
}

/**
 * A secret is in no round, snapshot, copy or file. One that a round uses is in the database, and one that was erased is
 * not.
 */
function checkSecrets({ secrets, server, nodes, torn }: ClusterRun): void {
  const { tables } = server;
  for (const [key, { all: values, erased, gone }] of secrets) {
    const used = nodes[0]?.gateway?.store.counts.has(`disclosed/${key}`) === true;
    if (used && !gone && !torn && !tables.secrets.has(`disclosure/${key}`)) {
      throw new Broken('secret lost', key);
    }
    if (erased && !torn && tables.secrets.has(`disclosure/${key}`)) {
      throw new Broken('secret not erased', key);
    }
    for (const hex of values) {
      const secret = Buffer.from(hex, 'hex');
      const hit = (bytes: Buffer): boolean => bytes.includes(secret);
      const rounds = [...tables.rounds.values()].flatMap((one) => [...one.values()]);
      if (
        rounds.some(({ batch }) => hit(batch)) ||
        [...tables.snapshots.values()].some((row) => hit(row.rows)) ||
        [...tables.secrets.values()].some(hit)
      ) {
        throw new Broken('secret in the clear', `${key} in the database`);
      }
      for (const node of nodes) {
        for (const folder of Object.values(COPIES)) {
          for (const value of rowsOf(node, folder).values()) {
            if (value.includes(secret.toString('latin1'))) {
              throw new Broken('secret in the clear', `${key} in ${folder} of ${node.name}`);
            }
          }
        }
      }
    }
  }
}
