// The passphrase of the private key files, by the setting KEY_PASSPHRASE_FILE.

import { readFileSync } from 'node:fs';
import { ConfigError } from './config.ts';
import type { Config } from './config.ts';

/**
 * The passphrase without the line end after it; undefined when the key files are not encrypted.
 *
 * @throws ConfigError when the file cannot be read or is empty.
 */
export function passphraseOf(config: Config): string | undefined {
  if (config.KEY_PASSPHRASE_FILE === '') return undefined;
  try {
    const passphrase = readFileSync(config.KEY_PASSPHRASE_FILE, 'utf8').replace(/\r?\n$/, '');
    if (passphrase !== '') return passphrase;
  } catch (cause) {
    throw new ConfigError(`KEY_PASSPHRASE_FILE cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
  throw new ConfigError('KEY_PASSPHRASE_FILE is empty');
}
