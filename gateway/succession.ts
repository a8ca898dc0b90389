// Closes a log and opens its successor, with the witnesses and the passphrase of a configuration: for the command line, and
// for a node that leads a cluster.

import { pino } from 'pino';
import { isLogError, LogError, openSuccessor } from '../log/index.ts';
import type { Succession, SuccessionOptions } from '../log/index.ts';
import type { Config } from './config.ts';
import { passphraseOf } from './passphrase.ts';
import { WitnessNetwork } from './witnesses/witness-network.ts';

/**
 * Opens the successor.
 *
 * @throws LogError like `openSuccessor`; the message says what each witness answered that did not cosign
 */
export async function succeed(
  config: Config,
  options: Omit<SuccessionOptions, 'data' | 'cosign' | 'passphrase'>,
): Promise<Succession> {
  const { kind, number } = options;
  const witnesses = WitnessNetwork.open(config, Date.now, pino({ level: 'silent' }));
  const passphrase = passphraseOf(config);
  try {
    return await openSuccessor({
      ...options,
      data: config.DATA_DIR,
      ...(passphrase === undefined ? {} : { passphrase }),
      ...(witnesses === null ? {} : { cosign: (n) => witnesses.cosign(kind, n) }),
    });
  } catch (error) {
    const problems = witnesses?.problems(kind, number) ?? [];
    if (!isLogError(error) || problems.length === 0) throw error;
    throw new LogError(error.code, [error.message, ...problems].join('\n  '), { cause: error });
  }
}
