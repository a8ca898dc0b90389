// Faults that are planted in the cluster, one at a time: the simulation must find each of them (see mutants.ts).

import type { Mutant } from './mutants.ts';

const mutant = (fault: string, file: string, from: string, to: string): Mutant => ({
  fault,
  world: 'cluster',
  file,
  from,
  to,
});

export const CLUSTER_MUTANTS: readonly Mutant[] = [
  // Committing rounds.
  mutant(
    'a write is acknowledged before its round is committed',
    'log/cluster/replica.ts',
    'await database.commit(this.stream, epoch, before, round);',
    'database.commit(this.stream, epoch, before, round).catch(() => undefined);',
  ),
  mutant(
    'a round is applied before it is committed',
    'log/cluster/replica.ts',
    `    await database.commit(this.stream, epoch, before, round);
    this.#timed((performance.now() - started) / 1000);
    await this.#apply(round, writes);`,
    `    await this.#apply(round, writes);
    await database.commit(this.stream, epoch, before, round);
    this.#timed((performance.now() - started) / 1000);`,
  ),
  mutant(
    'a commit of unknown outcome counts as committed',
    'log/cluster/database.ts',
    `        const [found] = await this.#whileHeld(epoch, DIGEST, [stream, seq], error);`,
    `        const [found] = [{ digest }] as QueryResultRow[];`,
  ),
  mutant(
    'a round that was not inserted counts as committed',
    'log/cluster/database.ts',
    'if ((await this.postgres.once(INSERT, values)).length === 1) return;',
    'await this.postgres.once(INSERT, values);\n        if (batch.length > 0) return;',
  ),
  mutant(
    'a leader goes on after a failed commit',
    'log/cluster/replica.ts',
    `        this.#committing = null;
        this.#options.onFailure(cause);
        return;`,
    `        this.#committing = null;
        this.#epoch = epoch;
        return;`,
  ),

  // Copies.
  mutant(
    'the rounds of a page are applied in reverse',
    'log/cluster/replica.ts',
    'for (const one of this.#checked(round, position)) writes.push(one);',
    'writes.unshift(...this.#checked(round, position));',
  ),
  mutant(
    'a round is fetched twice',
    'log/cluster/replica.ts',
    'database.rounds(stream, this.#position.seq, PAGE)',
    'database.rounds(stream, Math.max(0, this.#position.seq - 1), PAGE)',
  ),
  mutant(
    'a follower does not tell its log of a round',
    'log/cluster/replica.ts',
    'await this.#follow(writes);',
    'await this.#follow(writes.slice(0, 1));',
  ),

  // Snapshots.
  mutant(
    'a snapshot states a position before its rows',
    'log/cluster/snapshots.ts',
    '    seq: at.seq,\n    digest: Buffer',
    '    seq: at.seq - 1,\n    digest: Buffer',
  ),
  mutant(
    'a snapshot is one part short',
    'log/cluster/snapshots.ts',
    'if (writes.length > 0) await flush();',
    '',
  ),

  // Roles.
  mutant(
    'a deposed leader goes on leading',
    'gateway/cluster/node.ts',
    '    this.#deposed = error;\n',
    '    if (error === null) this.#deposed = error;\n',
  ),
  mutant(
    'the keys of the cluster are not taken over',
    'gateway/cluster/key-folder.ts',
    'if (known !== undefined && equal(known, bytes)) continue;',
    'if (known === undefined || equal(known, bytes)) continue;',
  ),
  mutant('a new key is not shared', 'gateway/cluster/node.ts', 'await this.#keys.share();', ''),
  mutant(
    'a node that begins to lead keeps keys that were not shared',
    'gateway/cluster/node.ts',
    '    if (leads) await this.#takeKeys();\n',
    '',
  ),
  {
    ...mutant(
      'a node takes over keys before it has compared itself with the database',
      'gateway/cluster/node.ts',
      '    if (leads) await this.#takeKeys();\n',
      '    await this.#keys.take(() => Promise.resolve()).catch(() => undefined);\n',
    ),
    // A leader that notices lost secrets by the mark does not commit a round that needs them.
    also: {
      file: 'log/cluster/database.ts',
      from: '[...(await this.marks(epoch))]',
      to: '[await this.#mark()]',
    },
  },
  mutant(
    'keys of disclosures are put under other names than they are read',
    'gateway/cluster/secret-rows.ts',
    '[named(key), value]',
    '[key, value]',
  ),
  mutant(
    'keys that the database has lost are not given back',
    'gateway/cluster/node.ts',
    '    this.#keys.databaseLost();\n',
    '',
  ),
  mutant(
    'a copy that is ahead of the database is not compared with it',
    'gateway/cluster/comparison.ts',
    'copies.of(stream).continues(common) === false',
    'copies.of(stream).continues(common) === false && common.seq === positions.get(stream)?.seq',
  ),
  mutant(
    'a secret is not sealed',
    'log/cluster/secrets.ts',
    'return Buffer.concat([nonce, cipher.getAuthTag(), hidden]);',
    'return Buffer.concat([nonce, cipher.getAuthTag(), hidden, secret]);',
  ),
  mutant(
    'an interrupted founding keeps a node out of its cluster',
    'gateway/cluster/joining.ts',
    'if (marker === null || abandoned) {',
    'if (marker === null) {',
  ),
];
