// The file that WITNESS_POLICY names: whom the service asks, and what of it the world may read.
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
  /** The lines of witnesses (without their addresses), groups and the quorum. */
  readonly shown: readonly string[];
}

/** Reads the file; `ConfigError` when it is no policy or one that can never be met. */
export function readWitnessPolicy(path: string): WitnessPolicy {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw refused(`cannot be read: ${(cause as Error).message}`, { cause });
  }
  return witnessPolicyOf(text);
}

/** The same of the text of the file. */
export function witnessPolicyOf(text: string): WitnessPolicy {
  let policy: Policy;
  try {
    policy = parsePolicy(native, text);
  } catch (cause) {
    if (!isLogError(cause)) throw cause;
    throw refused(`is no tlog-policy: ${cause.message}`, { cause });
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
      if (items[0] === 'witness') return [items.slice(0, 3).join(' ')];
      return items[0] === 'group' || items[0] === 'quorum' ? [items.join(' ')] : [];
    }),
  };
}

const refused = (reason: string, options?: ErrorOptions): ConfigError =>
  new ConfigError(`WITNESS_POLICY ${reason}`, options);
