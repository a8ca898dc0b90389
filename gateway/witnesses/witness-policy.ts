// Reads the file that WITNESS_POLICY names: the witnesses to ask, the quorum, and the lines that are published.
// C2SP tlog-policy; log/FORMAT.md §5.

import { readFileSync } from 'node:fs';
import { countQuorum, isLogError, native, parsePolicy } from '../../log/index.ts';
import type { CosignerName, Policy } from '../../log/index.ts';
import { ConfigError } from '../config.ts';
import type { AskedWitness } from './witness-client.ts';

/** A policy that this service can meet. */
export interface WitnessPolicy {
  readonly policy: Policy;
  /** The witnesses that have an address. */
  readonly asked: readonly AskedWitness[];
  /** Verifier keys of all witnesses, in the order of the file. */
  readonly vkeys: readonly string[];
  /** The lines of witnesses, groups and the quorum, as they are published: addresses have no user and password. */
  readonly shown: readonly string[];
}

/** Reads the file. Throws a `ConfigError` if it is not a policy, or if its quorum can never be met. */
export function readWitnessPolicy(path: string): WitnessPolicy {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw refused(`cannot be read: ${(cause as Error).message}`, { cause });
  }
  return witnessPolicyOf(text);
}

/** Reads the text of the file. Throws like `readWitnessPolicy`. */
export function witnessPolicyOf(text: string): WitnessPolicy {
  let policy: Policy;
  try {
    policy = parsePolicy(native, text);
  } catch (cause) {
    if (!isLogError(cause)) throw cause;
    throw refused(`is not a tlog-policy: ${cause.message}`, { cause });
  }
  const asked = policy.witnesses.filter((key): key is AskedWitness => key.url !== undefined);
  for (const { name, url } of asked) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      throw refused(`has no http or https address for the witness ${name}`);
    }
  }
  const cosigners: readonly CosignerName[] = asked.map(({ verifier }) => verifier);
  if (!countQuorum(policy, cosigners)) {
    throw refused('has a quorum that the witnesses with an address cannot meet');
  }
  const lines = text.split('\n').map((line) => line.split(/[ \t]+/).filter((item) => item !== ''));
  return {
    policy,
    asked,
    vkeys: lines.flatMap(([keyword, , vkey = '']) => (keyword === 'witness' ? [vkey] : [])),
    shown: lines.flatMap((items) => {
      if (items[0] === 'witness' && items[3] !== undefined)
        return [[...items.slice(0, 3), publicAddress(items[3])].join(' ')];
      return ['witness', 'group', 'quorum'].includes(items[0] ?? '') ? [items.join(' ')] : [];
    }),
  };
}

/** The address of a witness as it is published. A user and a password in it are secrets of the operator. */
function publicAddress(address: string): string {
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href;
}

const refused = (reason: string, options?: ErrorOptions): ConfigError =>
  new ConfigError(`WITNESS_POLICY ${reason}`, options);
