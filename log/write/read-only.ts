// The reasons for which a log is opened for reading only: a private key is lost, the log has a successor, or another
// node of a cluster leads. Nothing is signed or appended then; entries, proofs and the last checkpoint stay as they are. log/FORMAT.md §5.

import type { Core } from './core.ts';
import { LogError } from '../errors.ts';
import type { Keyring } from './keyring.ts';
import { metaKey } from '../store/layout.ts';
import { put } from '../store/store.ts';

/** The key that a read-only log has lost; null if it has a successor. */
export interface ReadOnly {
  readonly lost_key: 'checkpoint' | 'receipt' | null;
  /** Whether this node of a cluster follows: another node takes the entries. */
  readonly follows?: true;
  /** The reason in words for the operator. */
  readonly reason: string;
}

/** The log of a node that follows. */
export const FOLLOWS: ReadOnly = {
  lost_key: null,
  follows: true,
  reason: 'this node follows, and another one takes the entries',
};

/**
 * The error with which a read-only log refuses appends. The message of `log_read_only` is for clients: it names no
 * folder. The health of the log has the reason for the operator.
 */
export function refusal({ lost_key, follows, reason }: ReadOnly): LogError {
  if (follows === true) return new LogError('not_leader', reason);
  if (lost_key === null) return new LogError('log_closed', reason);
  return new LogError(
    'log_read_only',
    `the log is served for reading only, because the file of its ${lost_key} key is lost. Trying again does not ` +
      'help: the operator must restore the file, or open a successor of the log',
  );
}

/** Null for a log that takes entries. */
export function readOnlyOf(core: Core, keyring: Keyring, has_successor: boolean): ReadOnly | null {
  const lost = lostKeyOf(core, keyring);
  if (has_successor) return { lost_key: null, reason: 'the log has a successor' };
  if (lost === null) return null;
  const { name, why } = lost;
  const advice =
    'Put the file back and start again, or open a successor log with "actlog restore --successor"';
  return { lost_key: name, reason: `the log is read-only: ${why}. ${advice}` };
}

function lostKeyOf(
  core: Core,
  keyring: Keyring,
): { readonly name: 'checkpoint' | 'receipt'; readonly why: string } | null {
  if (core.durable === 0) return null;
  try {
    keyring.checkpoint();
  } catch (error) {
    return { name: 'checkpoint', why: (error as Error).message };
  }
  for (const { kid, status } of core.keys.all()) {
    if (status !== 'active') continue;
    try {
      keyring.receipt(kid);
    } catch (error) {
      return { name: 'receipt', why: (error as Error).message };
    }
  }
  return null;
}

/**
 * The verifier key of a log. It is kept in the database too, so that checkpoints can be verified after the file of
 * the checkpoint key was lost.
 *
 * @throws LogError `key_lost` when neither exists; `key_invalid` when the file has the key of another log
 */
export async function verifierKeyOf(core: Core, keyring: Keyring): Promise<string> {
  const bytes = core.store.get(metaKey('vkey'));
  const stored = bytes === undefined ? null : Buffer.from(bytes).toString();
  if (!keyring.hasCheckpoint && stored !== null) return stored;
  const vkey = keyring.vkey(core.origin);
  if (stored === null) await core.store.write([put(metaKey('vkey'), Buffer.from(vkey))]);
  else if (stored !== vkey) {
    throw new LogError(
      'key_invalid',
      `the checkpoint key of ${core.origin} is not the one that the log was opened with, ${stored}`,
    );
  }
  return vkey;
}
