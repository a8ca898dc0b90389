// Witness policies (C2SP tlog-policy): files that list logs, witnesses and the quorum of witnesses that must cosign a
// checkpoint; and, at the end, whether given cosignatures meet the quorum.

import { equal, parseDecimal } from '../encoding/bytes.ts';
import { isLogError, LogError } from '../errors.ts';
import type { Suite } from '../crypto/suite.ts';
import { isMapCosigner } from './checkpoint.ts';
import { COSIGNER_KEY, LOG_KEY, ML_DSA_KEY, parseVkey } from './note.ts';
import type { KeyType, Verifier } from './note.ts';

const MAX_POLICY_LENGTH = 262_144;
/** Limit on the number of logs, of witnesses and of groups, each. */
const MAX_NAMES = 256;
/** A control character other than a tab or newline, or a lone surrogate. */
const NOT_IN_POLICIES = /[^\t\n -\u{10ffff}]|[\p{Surrogate}\u007f]/u;

/** Parses a policy file. Throws `policy_invalid` with the line that breaks a rule. */
export function parsePolicy(suite: Suite, text: string): Policy {
  if (text.length > MAX_POLICY_LENGTH) {
    throw invalid(`policy is over ${String(MAX_POLICY_LENGTH)} characters`);
  }
  if (NOT_IN_POLICIES.test(text)) throw invalid('policy has a control character');
  const parser = new PolicyParser(suite);
  for (const [i, line] of text.split('\n').entries()) {
    const items = line.split(/[ \t]+/).filter((item) => item !== '');
    if (items[0] === undefined || items[0].startsWith('#')) continue;
    try {
      parser.line(items);
    } catch (cause) {
      if (!isLogError(cause)) throw cause;
      throw invalid(`line ${String(i + 1)}: ${cause.message}`, { cause });
    }
  }
  return parser.end();
}

/** The policy that `threshold` of these witnesses must cosign. Monitors, whose names end in `/map`, are not counted. */
export function policyOf(suite: Suite, threshold: number, vkeys: readonly string[]): Policy {
  const lines = vkeys.map((vkey, i) => `witness ${String(i)} ${vkey}`);
  const counted = vkeys.flatMap((vkey, i) =>
    isMapCosigner(vkey.slice(0, vkey.indexOf('+'))) ? [] : [String(i)],
  );
  const quorum =
    threshold === 0
      ? ['quorum none']
      : [`group quorum ${String(threshold)} ${counted.join(' ')}`, 'quorum quorum'];
  return parsePolicy(suite, [...lines, ...quorum].join('\n'));
}

class PolicyParser {
  readonly #suite: Suite;
  readonly #logs: PolicyKey[] = [];
  readonly #witnesses: PolicyKey[] = [];
  /** Witnesses and groups by name. They share one name space. */
  readonly #named = new Map<string, Quorum>();
  /** The names that are members of a group. Each may be in one group only, so that no witness counts twice. */
  readonly #taken = new Set<string>();
  #groups = 0;
  #quorum: Quorum | null | undefined;

  constructor(suite: Suite) {
    this.#suite = suite;
  }

  line([keyword = '', ...items]: readonly string[]): void {
    if (keyword === 'log') this.#log(items);
    else if (keyword === 'witness') this.#witness(items);
    else if (keyword === 'group') this.#group(items);
    else if (keyword === 'quorum') this.#setQuorum(items);
    else throw invalid('line begins with none of log, witness, group, quorum');
  }

  end(): Policy {
    if (this.#quorum === undefined) throw invalid('policy has no quorum line');
    return { logs: this.#logs, witnesses: this.#witnesses, quorum: this.#quorum };
  }

  #log([vkey, url, ...rest]: readonly string[]): void {
    if (vkey === undefined || rest.length > 0) throw invalid('log takes a vkey and a url');
    const verifier = this.#newKey(vkey, [LOG_KEY], this.#logs);
    this.#logs.push({ name: verifier.name, verifier, ...(url === undefined ? {} : { url }) });
  }

  #witness([name, vkey, url, ...rest]: readonly string[]): void {
    if (name === undefined || vkey === undefined || rest.length > 0) {
      throw invalid('witness takes a name, a vkey and a url');
    }
    const verifier = this.#newKey(vkey, [COSIGNER_KEY, ML_DSA_KEY], this.#witnesses);
    const witness = { name, verifier, ...(url === undefined ? {} : { url }) };
    this.#define(name, { witness });
    this.#witnesses.push(witness);
  }

  #group([name, count, ...names]: readonly string[]): void {
    if (name === undefined || count === undefined || names.length === 0) {
      throw invalid('group takes a name, all, any or a number, and members');
    }
    this.#groups += 1;
    if (this.#groups > MAX_NAMES) throw invalid(`policy has over ${String(MAX_NAMES)} groups`);
    const members = names.map((member) => {
      const quorum = this.#counted(member);
      if (this.#taken.has(member)) throw invalid('a member is in a group already');
      this.#taken.add(member);
      return quorum;
    });
    const threshold =
      count === 'all' ? members.length : count === 'any' ? 1 : (parseDecimal(count) ?? 0);
    if (threshold < 1 || threshold > members.length) {
      throw invalid(`threshold is not from 1 to ${String(members.length)}`);
    }
    this.#define(name, { threshold, members });
  }

  #setQuorum([name, ...rest]: readonly string[]): void {
    if (name === undefined || rest.length > 0) throw invalid('quorum takes one name');
    if (this.#quorum !== undefined) throw invalid('policy has a quorum line already');
    this.#quorum = name === 'none' ? null : this.#counted(name);
  }

  /** The witness or group with a name from an earlier line. Throws for a monitor, which a quorum must not count. */
  #counted(name: string): Quorum {
    const quorum = this.#named.get(name);
    if (quorum === undefined) throw invalid('a name is not defined on a line above');
    if ('witness' in quorum && isMapCosigner(quorum.witness.verifier.name)) {
      throw invalid('a cosigner named …/map counts for no quorum');
    }
    return quorum;
  }

  #define(name: string, quorum: Quorum): void {
    if (name === 'none' || this.#named.has(name)) throw invalid('a name is defined already');
    this.#named.set(name, quorum);
  }

  #newKey(vkey: string, types: readonly KeyType[], others: readonly PolicyKey[]): Verifier {
    const verifier = parseVkey(this.#suite, vkey);
    if (!types.includes(verifier.type)) throw invalid(`vkey is not of type ${types.join(' or ')}`);
    if (others.length >= MAX_NAMES) throw invalid(`policy has over ${String(MAX_NAMES)} of these`);
    const { publicKey } = verifier;
    const all = [...this.#logs, ...this.#witnesses];
    if (all.some((other) => equal(other.verifier.publicKey, publicKey))) {
      throw invalid('public key is in the policy already');
    }
    return verifier;
  }
}

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('policy_invalid', message, options);
}

// Whether cosignatures meet the quorum of a policy. C2SP tlog-policy; log/FORMAT.md §5, §6.3.

/** A witness or log of a policy, with its URL if the policy gives one. */
export interface PolicyKey {
  /** The name in the policy; for a log it is the origin. */
  readonly name: string;
  readonly verifier: Verifier;
  readonly url?: string;
}

/** One witness, or `threshold` of several members. */
export type Quorum =
  | { readonly witness: PolicyKey }
  | { readonly threshold: number; readonly members: readonly Quorum[] };

/** A parsed policy. */
export interface Policy {
  readonly logs: readonly PolicyKey[];
  /** All witnesses, including those that the quorum does not count, such as monitors. */
  readonly witnesses: readonly PolicyKey[];
  /** Null for `quorum none`. */
  readonly quorum: Quorum | null;
}

/** The key of a cosignature, by name and key id, such as a `Cosigned`. */
export interface CosignerName {
  readonly name: string;
  readonly key_id: number;
}

/** Whether these cosigners, whose signatures the caller has verified, meet the quorum. */
export function countQuorum(policy: Policy, cosigners: readonly CosignerName[]): boolean {
  return policy.quorum === null || isMet(policy.quorum, cosigners);
}

/**
 * The newest time, in seconds, such that the cosignatures made at or after it meet the quorum. For k of n witnesses it
 * is the k-th newest time. Null if the quorum is not met, and for `quorum none`.
 */
export function quorumTime(
  policy: Policy,
  cosignatures: readonly (CosignerName & { readonly time_s: number })[],
): number | null {
  const { quorum } = policy;
  if (quorum === null) return null;
  const times = [...new Set(cosignatures.map(({ time_s }) => time_s))].sort((a, b) => b - a);
  const enough = (time: number): boolean =>
    isMet(
      quorum,
      cosignatures.filter(({ time_s }) => time_s >= time),
    );
  return times.find(enough) ?? null;
}

function isMet(quorum: Quorum, cosigners: readonly CosignerName[]): boolean {
  if ('witness' in quorum) {
    const { name, key_id } = quorum.witness.verifier;
    return cosigners.some((cosigner) => cosigner.name === name && cosigner.key_id === key_id);
  }
  return quorum.members.filter((member) => isMet(member, cosigners)).length >= quorum.threshold;
}
