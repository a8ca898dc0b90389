// The policy file: known logs, witnesses, and the quorum over them. C2SP tlog-policy.

import { equal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Suite } from '../crypto/suite.ts';
import { isMapCosigner } from './checkpoint.ts';
import { parseDecimal } from '../encoding/spelling.ts';
import type { Policy, PolicyKey, Quorum } from './quorum.ts';
import { COSIGNER_KEY, LOG_KEY, parseVkey } from './vkey.ts';
import type { KeyType, Verifier } from './vkey.ts';

const MAX_POLICY_LENGTH = 262_144;
/** Of logs, of witnesses and of groups each. */
const MAX_NAMES = 256;
/** What is below the space and no tab or newline, U+007F, or a lone surrogate. */
const NOT_IN_POLICIES = /[^\t\n -\u{10ffff}]|[\p{Surrogate}\u007f]/u;

/** Reads a policy file; `policy_invalid` names the line that breaks a rule. */
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
      if (!(cause instanceof LogError)) throw cause;
      throw invalid(`line ${String(i + 1)}: ${cause.message}`, { cause });
    }
  }
  return parser.end();
}

/** A policy without a file: `threshold` of these witnesses, of which `…/map` ones are not counted. */
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
  /** Witnesses and groups share their names. */
  readonly #named = new Map<string, Quorum>();
  /** Members of a group: one may be in one group only, so that nobody counts twice. */
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
    const verifier = this.#newKey(vkey, LOG_KEY, this.#logs);
    this.#logs.push({ name: verifier.name, verifier, ...(url === undefined ? {} : { url }) });
  }

  #witness([name, vkey, url, ...rest]: readonly string[]): void {
    if (name === undefined || vkey === undefined || rest.length > 0) {
      throw invalid('witness takes a name, a vkey and a url');
    }
    const verifier = this.#newKey(vkey, COSIGNER_KEY, this.#witnesses);
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

  /** A name on a line above that a quorum may count. */
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

  #newKey(vkey: string, type: KeyType, others: readonly PolicyKey[]): Verifier {
    const verifier = parseVkey(this.#suite, vkey);
    if (verifier.type !== type) throw invalid(`vkey is not of type ${String(type)}`);
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
