// Five witnesses on separate ports, for tests of a quorum. C2SP tlog-witness.

import { witnessPolicyOf } from '../../../gateway/witnesses/witness-policy.ts';
import { Witnesses } from '../../../gateway/witnesses/witnesses.ts';
import { cosignatureOf, cosignerKey, falseWitness } from './answering.ts';
import type { Answer } from './answering.ts';
import type { Listening } from '../../support/listening.ts';

/** The time of all cosignatures, in seconds. */
export const NOW_S = 1_790_000_000;
export const NAMES = ['a', 'b', 'c', 'd', 'e'] as const;
export type Name = (typeof NAMES)[number];

/** The seed of the key of a witness. */
export const seedOf = (name: Name): number => 70 + NAMES.indexOf(name);

/** The name in its key. */
export const keyName = (name: Name): string => `${name}.example`;

/** Witnesses that cosign everything, except those whose answer the test determines. */
export class Network {
  readonly answers = new Map<Name, Answer>();
  readonly asked: Name[] = [];
  readonly #servers = new Map<Name, Listening>();

  async start(): Promise<this> {
    for (const name of NAMES) {
      const server = await falseWitness((request, response, incoming) => {
        this.asked.push(name);
        const answer = this.answers.get(name);
        if (answer !== undefined) answer(request, response, incoming);
        else response.end(cosignatureOf(request.note, keyName(name), seedOf(name), NOW_S));
      });
      this.#servers.set(name, server);
    }
    return this;
  }

  /** These witnesses no longer cosign. */
  down(...names: Name[]): void {
    this.answers.clear();
    for (const name of names) {
      this.answers.set(name, (_, response) => response.writeHead(503).end());
    }
  }

  policy(rules: string, ...names: Name[]): string {
    const lines = names.map((name) => {
      const url = this.#servers.get(name)!.url;
      return `witness ${name} ${cosignerKey(keyName(name), seedOf(name))} ${url}`;
    });
    return [...lines, rules, ''].join('\n');
  }

  /** The log waits for every witness that answers, however slow the machine is, unless `grace_ms` is shorter. */
  witnesses(
    policy: string,
    fail_open = false,
    timeout_ms = 60_000,
    grace_ms = timeout_ms,
  ): Witnesses {
    const now = (): number => NOW_S * 1000;
    return new Witnesses(witnessPolicyOf(policy), { timeout_ms, fail_open, grace_ms, now });
  }

  async close(): Promise<void> {
    for (const server of this.#servers.values()) await server.close();
  }
}
