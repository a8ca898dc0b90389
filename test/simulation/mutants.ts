// Faults that are planted in the core of the log, one at a time: the simulation must find each of them. A text that no
// longer occurs exactly once in its file fails the run, so that no mutant is lost when the code changes.

import type { Replacement } from './link.ts';
import type { WorldName } from './worlds.ts';

export interface Mutant extends Replacement {
  /** What the changed code does wrong. */
  readonly fault: string;
  /** The world whose seeds must find it. */
  readonly world: WorldName;
  /** Planted with it: a second protection, which hides the fault from the simulation while it is there. */
  readonly also?: Replacement;
}

/** What is planted for a fault. */
export const replacementsOf = ({ also, ...fault }: Mutant): readonly Replacement[] =>
  also === undefined ? [fault] : [fault, also];

const mutant = (fault: string, file: string, from: string, to: string): Mutant => ({
  fault,
  world: 'log',
  file: `log/${file}`,
  from,
  to,
});

export const MUTANTS: readonly Mutant[] = [
  // Writing to disk.
  mutant(
    'batches are not synced',
    'store/store.ts',
    'async write(writes: readonly Write[], { sync = true } = {})',
    'async write(writes: readonly Write[], { sync = false } = {})',
  ),
  mutant(
    'a write behind a failed one is acknowledged',
    'store/store.ts',
    'await earlier;\n    this.#checkWhole();',
    'await earlier;',
  ),
  mutant(
    'a row that was just written is taken for absent',
    'store/store.ts',
    'this.#absent.written(write.key);',
    '',
  ),
  mutant(
    'a file is not synced before its rename',
    'store/durable-file.ts',
    '      await file.sync();\n    } finally {\n      await file.close();\n    }\n    if (replace)',
    '    } finally {\n      await file.close();\n    }\n    if (replace)',
  ),
  mutant(
    'the folder of a new file is not synced',
    'store/durable-file.ts',
    'if (sync_folder) await syncFolder(dirname(path));',
    '',
  ),
  mutant(
    'the parents of a new folder are not synced',
    'store/durable-file.ts',
    'if (!there || (await takesFolders(parent))) await syncFolder(parent);',
    '',
  ),
  mutant(
    'the register does not sync its folder',
    'store/register.ts',
    'await writeDurableFile(path, `${JSON.stringify(to)}\\n`);',
    'await writeDurableFile(path, `${JSON.stringify(to)}\\n`, { sync_folder: false });',
  ),
  mutant(
    'a receipt key is used before its file is written',
    'write/keyring.ts',
    '    await writeKeyFile(\n      join(',
    '    void writeKeyFile(\n      join(',
  ),
  mutant(
    'checksums of rows are not compared',
    'store/layout.ts',
    'if (view.getUint32(length) === crc32(value, crc32(key))) return value;',
    'return value;',
  ),
  mutant(
    'entries are not compared with their leaf hashes',
    'write/core.ts',
    'if (!equal(leafHashOf(bytes), this.tiles.subtree(0, index))) throw damaged(this.origin, index);',
    '',
  ),
  // Committing.
  mutant(
    'callers are answered before the batch is durable',
    'write/committer.ts',
    'if (signed.length > 0 || attached.length > 0) await this.#core.store.write(result.writes);',
    'if (signed.length > 0 || attached.length > 0) void this.#core.store.write(result.writes);',
  ),
  mutant(
    'rounds are committed before they are signed',
    'write/committer.ts',
    'const unready = this.#line.findIndex(({ entries }) => entries === null);',
    'const unready = -1;',
  ),
  mutant(
    'a failed write is not reported',
    'write/committer.ts',
    '    this.#onFailure(error);\n    this.#tellIdle();',
    '    this.#tellIdle();',
  ),
  mutant(
    'receipts of a later round are those of an earlier one',
    'write/committer.ts',
    'result.entries.slice(from + group.from, from + group.to)',
    'result.entries.slice(group.from, group.to)',
  ),
  mutant(
    'one key signs a whole round',
    'write/committer.ts',
    'while (placed[to]?.kid === kid) to += 1;',
    'to = placed.length;',
  ),
  mutant(
    'a map head is cut before the rounds in front of it',
    'write/committer.ts',
    '    if (result.updates.length > 0) this.#core.fold.apply(result.updates);\n    this.#beginLate();',
    '    this.#beginLate();\n    if (result.updates.length > 0) this.#core.fold.apply(result.updates);',
  ),
  mutant(
    'the position is not in the batch',
    'write/integrate.ts',
    "  writes.push(put(metaKey('state'), Buffer.from(JSON.stringify(position))));\n",
    '',
  ),
  mutant(
    'tiles are not in the batch',
    'write/integrate.ts',
    '    writes.push(put(tileKey(level, n), hashes));\n',
    '    void hashes;\n',
  ),
  mutant(
    'head records are not in the batch',
    'write/integrate.ts',
    '    writes.push(put(headKey(skey), record));\n',
    '',
  ),
  mutant(
    'the rows of the core are not in the batch',
    'write/integrate.ts',
    'writes.push(...core.coreRows.writes(id), ...core.pluginRows.writes(id));',
    'writes.push(...core.pluginRows.writes(id));',
  ),
  mutant(
    'attached rows are not in the batch',
    'write/integrate.ts',
    '  for (const { key, value } of attached) writes.push(write(rowKey(ATTACHED_ROW, key), value));\n',
    '',
  ),
  mutant(
    'leaf hashes find another index',
    'write/integrate.ts',
    'put(leafKey(leaf_hash), indexValue(index))',
    'put(leafKey(leaf_hash), indexValue(index + 1))',
  ),
  mutant(
    'the second entry of a chain does not list the first',
    'write/integrate.ts',
    'if (seq === 1 && prev_index !== null',
    'if (seq === 2 && prev_index !== null',
  ),
  mutant(
    'a cached row outlives a later round',
    'write/rows.ts',
    'if (!this.#remembered.has(key)) continue;',
    'continue;',
  ),
  // Placing.
  mutant(
    'a refused group leaves its changes behind',
    'write/sequencer.ts',
    '      undo();\n      round.placed.length = from;',
    '      round.placed.length = from;',
  ),
  mutant(
    'a refused group leaves its entries in the round',
    'write/sequencer.ts',
    '      round.placed.length = from;\n',
    '',
  ),
  mutant(
    'a refused group keeps its index',
    'write/core.ts',
    '      this.position = position;\n      this.keys.forget();',
    '      this.keys.forget();',
  ),
  mutant(
    'times follow the wall clock back',
    'write/clock.ts',
    'return Math.max(this.#source.wall(), floor);',
    'return this.#source.wall();',
  ),
  mutant(
    'an entry may have the time of the last map head',
    'write/state.ts',
    'Math.max(last_ms, map_head.ms + 1)',
    'Math.max(last_ms, map_head.ms)',
  ),
  mutant(
    'the key in force is not read again after a rotation',
    'write/state.ts',
    "    this.forget();\n    this.#rows.set('keys'",
    "    this.#rows.set('keys'",
  ),
  mutant(
    'a revoked key is only retired',
    'operate/operator.ts',
    "await this.#append([...successor, declare(key, 'revoked')]);",
    "await this.#append([...successor, declare(key, 'retired')]);",
  ),
  mutant(
    'the key in force is revoked without a successor',
    'operate/operator.ts',
    'keys.inForce()?.kid === kid ? [(await this.#newKey()).draft] : []',
    '[]',
  ),
  mutant(
    'anyone may write for an entity',
    'write/placing.ts',
    '  checkSurfaces(statement, core.surfaces.reader);\n',
    '',
  ),
  mutant(
    'a tenant may write before it is registered',
    'write/placing.ts',
    "if (type !== 'log.tenant.v1' && !core.tenants.has(tenant_ref)) {",
    "if (type === 'log.none.v1') {",
  ),
  mutant(
    'a meter misses entries',
    'write/projection.ts',
    'for (const { watch, name } of watchersOf(core, entry)) write(name, watch.project);',
    '',
  ),
  // Publishing and starting.
  mutant(
    'a checkpoint covers more than its map head',
    'write/publisher.ts',
    '    const size = index + 1;\n',
    '    const size = core.durable;\n',
  ),
  mutant(
    'a note is offered before it is in the register',
    'write/publisher.ts',
    '    await this.#remember(size, root);\n    this.#offered',
    '    void this.#remember(size, root);\n    this.#offered',
  ),
  mutant(
    'a note is visible before it is durable',
    'write/publisher.ts',
    '    await this.#core.store.write([put(noteKey(size), Buffer.from(cosigned.note))]);\n    const before',
    '    void this.#core.store.write([put(noteKey(size), Buffer.from(cosigned.note))]);\n    const before',
  ),
  mutant(
    'the register is advanced from an old value',
    'write/publisher.ts',
    '      this.#held = next;\n',
    '',
  ),
  mutant(
    'calls to the register do not take turns',
    'write/publisher.ts',
    'const advanced = this.#turn.then(async () => {',
    'const advanced = Promise.resolve().then(async () => {',
  ),
  mutant(
    'a database that is behind the register starts',
    'write/engine.ts',
    'if (!follows) checkNotBehind(',
    'if (name === null) checkNotBehind(',
  ),
  mutant(
    'a start forgets the entries behind the checkpoint in the map',
    'write/catch-up.ts',
    '\n  foldEntries(core, size, end);\n  return cut;',
    '\n  return cut;',
  ),
  mutant(
    'a start takes the newest head of a chain for the published one',
    'write/catch-up.ts',
    'if (!later.has(id)) later.set(id, link);',
    'later.set(id, link);',
  ),
  mutant(
    'a log that failed to write stays closed to entries',
    'log.ts',
    '        this.#held.clear();\n        this.#reason = null;',
    '        this.#held.clear();',
  ),
  mutant(
    'the health of a log throws while it recovers',
    'log.ts',
    '    if (isLogError(error)) return null;\n    throw error;',
    '    throw error;',
  ),
  mutant(
    'a successor may begin before its predecessor ends',
    'operate/succession.ts',
    '...(last_ms === null ? {} : { begins_after_ms: last_ms }),',
    '',
  ),
  // Replaying, as monitors do.
  mutant(
    'a monitor does not compare the roots of map heads',
    'replay/log-state.ts',
    'if (statement.map_root !== root) {',
    "if (root === '') {",
  ),
  // Tree and absence.
  mutant('a partial tile is not written again', 'merkle/edge.ts', '      tile.dirty = true;\n', ''),
  mutant(
    'a window ends before its last millisecond',
    'read/lookup.ts',
    'found.filter(({ ms }) => ms <= to_ms)',
    'found.filter(({ ms }) => ms < to_ms)',
  ),
];
