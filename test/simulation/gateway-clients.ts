// What tenants and the operator of the simulated gateway do with an answer: they repeat a request until they know what
// became of it, and hold the gateway to what it said.

import { isAdminError } from '../../gateway/tenants/tenants.ts';
import { isLogError } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';
import { GatewayProcess } from './gateway-process.ts';
import type { Serving } from './gateway-process.ts';
import { send } from './gateway-requests.ts';
import type { Answer, Request } from './gateway-requests.ts';
import { DATA, describe } from './subject.ts';
import { Broken } from './world/world.ts';

export const NAMES = ['acme', 'bolt', 'core'];

/** An API key. The operator does not know what became of a `doubtful` one: the process ended while it was changed. */
export interface Key {
  readonly text: string;
  readonly key_id: string;
  readonly tenant: number;
  readonly before: Key | null;
  state: 'active' | 'changing' | 'doubtful' | 'revoked';
  /** When it ends by the wall clock, after a rotation. */
  until_ms: number | null;
}

/** What a client asks for. */
export interface Wanted {
  readonly tenant: number;
  readonly request: Omit<Request, 'key' | 'idempotency_key'>;
  readonly once: boolean;
  /** The codes with which it may be refused. */
  readonly may?: readonly string[];
  /** Takes the first answer that is no error. */
  readonly answered?: (answer: Answer) => void;
  /** Called when it was refused. */
  readonly refused?: (code: string) => void;
}

/** A request of a client, and what the client knows of it. */
export interface Asked extends Wanted {
  readonly n: number;
  /** `unknown`: it was sent without an Idempotency-Key, and its answer was lost. */
  state: 'waiting' | 'sent' | 'done' | 'refused' | 'unknown';
  /** How often it was sent, and how many of these are not answered. */
  tries: number;
  flying: number;
  first: Answer | null;
  /** The entries that the answer names. */
  entries: readonly string[];
}

/** An entry with a private text. */
export interface Private {
  readonly entry_id: string;
  readonly tenant: number;
  readonly member: string;
  readonly text: string;
  erased: 'no' | 'asked' | 'yes';
  /** The row of its key in the database of keys. */
  readonly row: string;
}

export class GatewayClients extends GatewayProcess {
  protected readonly keys: Key[] = [];
  protected readonly asked: Asked[] = [];
  protected readonly privates: Private[] = [];
  readonly #issuing = new Set<number>();

  protected override again(): void {
    for (const one of this.asked) {
      one.flying = 0;
      if (one.state === 'sent') one.state = one.once ? 'waiting' : 'unknown';
    }
    for (const key of this.keys) if (key.state === 'changing') key.state = 'doubtful';
    this.#issuing.clear();
    super.again();
  }

  protected override started(serving: Serving): void {
    super.started(serving);
    const { tenants, disclosures, served } = serving.gateway;
    for (const { text, key_id, state, until_ms } of this.keys) {
      const found = tenants.authenticate(text);
      if (state === 'revoked' && found !== 'api_key_revoked') {
        throw new Broken('revoked key', `${key_id} is ${JSON.stringify(found)} after a start`);
      }
      if (state === 'active' && until_ms === null && typeof found === 'string') {
        throw new Broken('key lost', `${key_id} is refused after a start: ${found}`);
      }
    }
    const { live } = serving.gateway.logs;
    for (const { entry_id, erased } of this.privates) {
      // A start finishes what a crash interrupted.
      if (erased === 'no' || live.row(`disclosure/erased/${entry_id}`) === undefined) {
        if (erased === 'yes') throw new Broken('erasure undone', `${entry_id} has no erasure`);
        continue;
      }
      void disclosures.hasKey(served.live, entry_id).then((has) => {
        this.guard(() => {
          if (has) throw new Broken('erasure undone', `the key of ${entry_id} is there again`);
        });
      });
    }
  }

  // Requests.

  /** A request of a client; it is sent with the step that makes it, if its tenant has a key. */
  protected ask(serving: Serving, wanted: Wanted, lost = false): Asked {
    const asked: Asked = {
      ...wanted,
      ...{ n: this.asked.length, state: 'waiting', tries: 0, flying: 0, first: null, entries: [] },
    };
    this.asked.push(asked);
    this.send(serving, asked, lost);
    return asked;
  }

  /** Sends a request, perhaps again. With `lost`, its answer does not reach the client. */
  protected send(serving: Serving, asked: Asked, lost = false): void {
    const key = this.keyOf(asked.tenant);
    if (key === null) {
      this.issue(serving, asked.tenant);
      if (!asked.once) asked.state = 'refused';
      return;
    }
    const { n, request, once } = asked;
    asked.state = 'sent';
    asked.tries += 1;
    asked.flying += 1;
    const process = this.process;
    const what = `request ${String(n)} ${request.method} ${request.path}`;
    this.world.trace(() => `${what} is sent${lost ? ', its answer will be lost' : ''}`);
    const full: Request = {
      ...request,
      key: key.text,
      ...(once ? { idempotency_key: `simulated-${String(n)}` } : {}),
    };
    this.world
      .as(process, () => send(serving.handler, full))
      .then(
        (answer) => {
          if (!process.alive) return;
          const code = codeOf(answer);
          this.world.trace(() => `${what}: ${String(answer.status)} ${code}`);
          this.guard(() => {
            asked.flying -= 1;
            if (lost) asked.state = this.#open(asked);
            else this.#answered(asked, key, answer);
          });
        },
        (error: unknown) => {
          this.guard(() => {
            throw new Broken('no answer', `${what}: ${describe(error)}`);
          });
        },
      );
  }

  /** What is known of a request after an answer that says nothing of it. */
  #open({ first, flying, once }: Asked): Asked['state'] {
    if (flying > 0) return 'sent';
    return first !== null ? 'done' : once ? 'waiting' : 'unknown';
  }

  #answered(asked: Asked, key: Key, answer: Answer): void {
    const { n, first } = asked;
    const { status } = answer;
    const code = codeOf(answer);
    const what = `request ${String(n)}: ${String(status)} ${code}`;
    const open = this.#open(asked);
    if (status >= 500) {
      const explained = status === 503 && (this.excused || this.stopping || this.clockMoved);
      if (!explained) throw new Broken('server error', `${what} ${answer.text}`);
      asked.state = open;
      return;
    }
    if (status === 401) {
      // The key may have been changed since the request was sent.
      if (key.state === 'active' && key.until_ms === null) throw new Broken('key refused', what);
      asked.state = open === 'unknown' && asked.tries === 1 ? 'refused' : open;
      return;
    }
    if (code === 'idempotency_key_in_use') {
      asked.state = open;
      return;
    }
    if (status >= 400) {
      if (asked.may?.includes(code) !== true || first !== null) {
        throw new Broken(`refused ${code}`, `${what} ${answer.text}`);
      }
      asked.state = asked.flying > 0 ? 'sent' : 'refused';
      asked.refused?.(code);
      return;
    }
    asked.state = asked.flying > 0 ? 'sent' : 'done';
    if (first === null) {
      asked.first = answer;
      asked.entries = idsIn(answer.json);
      this.#acknowledge(asked.entries);
      asked.answered?.(answer);
      return;
    }
    if (!answer.replayed) throw new Broken('not a replay', what);
    const erased = this.privates.some(
      (one) => one.erased !== 'no' && asked.entries.includes(one.entry_id),
    );
    if (!erased && first.text !== answer.text) {
      throw new Broken('repeat differs', `${what}\n${first.text}\n${answer.text}`);
    }
  }

  /** Every entry that an answer names is in the log from then on, as it is now. */
  #acknowledge(ids: readonly string[]): void {
    const log = this.live;
    if (log === null) return;
    for (const entry_id of ids) {
      const index = log.indexOfEntry(entry_id);
      const text = index === null ? null : log.entry(index);
      if (index === null || text === null) throw new Broken('receipt lost', entry_id);
      this.ledger.acknowledge(index, text);
    }
  }

  /** Sends again what is not known to be done, as clients with an Idempotency-Key do. */
  protected retry(serving: Serving): void {
    for (const one of this.asked) if (one.state === 'waiting') this.send(serving, one);
  }

  // Keys.

  /** A key of a tenant that must be accepted; null if there is none. */
  protected keyOf(tenant: number): Key | null {
    const usable = (key: Key): boolean =>
      key.tenant === tenant && key.state === 'active' && key.until_ms === null;
    return this.keys.findLast(usable) ?? null;
  }

  /** Calls a verb of administration, as the operator does through the socket of the server. */
  protected verb(
    serving: Serving,
    name: string,
    args: JsonObject,
    done: (result: JsonObject) => void,
    failed: () => void = () => undefined,
  ): void {
    const process = this.process;
    const run = serving.verbs[name];
    if (run === undefined) throw new Error(`there is no verb ${name}`);
    this.world
      .as(process, () => run(args))
      .then(
        (result) => {
          if (!process.alive) return;
          this.world.trace(() => `${name}: done`);
          this.guard(() => {
            done(result as JsonObject);
          });
        },
        (error: unknown) => {
          if (!process.alive) return;
          this.world.trace(() => `${name}: ${String(error)}`);
          failed();
          this.guard(() => {
            const disk = isLogError(error) && error.code === 'log_unavailable';
            if (isAdminError(error) || (disk && (this.excused || this.stopping))) return;
            throw new Broken(`${name} refused`, describe(error));
          });
        },
      );
  }

  /** Whether a change of a key is not answered yet: its tenant may have no key to send a request with. */
  protected get changingKeys(): boolean {
    return this.#issuing.size > 0 || this.keys.some(({ state }) => state === 'changing');
  }

  protected issue(serving: Serving, tenant: number): void {
    if (this.#issuing.has(tenant)) return;
    this.#issuing.add(tenant);
    const args = { tenant: NAMES[tenant] ?? '', kind: 'live', role: 'operator' };
    const failed = (): void => void this.#issuing.delete(tenant);
    const take = (issued: JsonObject): void => {
      this.#issuing.delete(tenant);
      this.#take(issued, tenant, null);
    };
    this.verb(serving, 'keys issue', args, take, failed);
  }

  #take(issued: JsonObject, tenant: number, before: Key | null): void {
    const { key: text, key_id } = issued as Record<string, string>;
    if (text === undefined || key_id === undefined) throw new Broken('key', 'no key was issued');
    this.keys.push({ text, key_id, tenant, before, state: 'active', until_ms: null });
  }

  /** Rotates a key. Its successor is valid, and what it succeeded itself is revoked. */
  protected rotateKey(serving: Serving, key: Key, grace_ms: number): void {
    const earlier = key.before;
    const was = earlier?.state;
    key.state = 'changing';
    if (earlier !== null && was !== 'revoked') earlier.state = 'changing';
    const until_ms = this.world.wall_ms + grace_ms;
    this.verb(
      serving,
      'keys rotate',
      { key_id: key.key_id, grace_ms },
      (issued) => {
        key.state = 'active';
        key.until_ms = until_ms;
        if (earlier !== null) earlier.state = 'revoked';
        this.#take(issued, key.tenant, key);
      },
      () => {
        key.state = 'doubtful';
        if (earlier !== null && was !== 'revoked') earlier.state = 'doubtful';
      },
    );
  }

  protected revokeKey(serving: Serving, key: Key): void {
    key.state = 'changing';
    this.verb(
      serving,
      'keys revoke',
      { key_id: key.key_id },
      () => {
        key.state = 'revoked';
      },
      () => {
        key.state = 'doubtful';
      },
    );
  }

  /** Presents a revoked key. */
  protected useOldKey(serving: Serving, { text, key_id }: Key): void {
    const request: Request = { method: 'GET', path: '/api/v1/clear/usage', key: text };
    void this.world
      .as(this.process, () => send(serving.handler, request))
      .then((answer) => {
        this.guard(() => {
          if (codeOf(answer) === 'api_key_revoked') return;
          throw new Broken('revoked key', `${key_id} is answered ${String(answer.status)}`);
        });
      });
  }

  // Private texts.

  /** Remembers an entry with a private text, and by which key it is sealed. */
  protected keepPrivate(entry_id: string, tenant: number, member: string, text: string): void {
    const sealed = this.live?.attached(`sealed/${entry_id}`);
    if (sealed === undefined) throw new Broken('disclosure lost', `${entry_id} has no sealed text`);
    const row = Buffer.from(sealed.subarray(0, KEY_ID_BYTES)).toString('hex');
    this.privates.push({ entry_id, tenant, member, text, erased: 'no', row });
  }

  /** Nothing of a key that was destroyed may be left in the files of its database. */
  protected checkErased({ entry_id, row }: Private): void {
    const left = this.databases.at(`${DATA}/private`).remains(row);
    if (left.length > 0) throw new Broken('erasure leaves bytes', `of the key of ${entry_id}`);
  }
}

/** Bytes of the id of a key, with which a sealed text begins. */
const KEY_ID_BYTES = 16;

/** The code of an error; empty for another answer. */
export function codeOf({ json }: Answer): string {
  const { error } = json as { readonly error?: { readonly code?: string } };
  return error?.code ?? '';
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The entry ids in an answer. */
function idsIn(json: Json): string[] {
  const ids = new Set<string>();
  const look = (value: Json, name: string): void => {
    if (Array.isArray(value)) for (const item of value as Json[]) look(item, name);
    else if (typeof value === 'object' && value !== null) {
      for (const [member, item] of Object.entries(value)) look(item, member);
    } else if (typeof value === 'string' && /(^|_)entry_id$/.test(name) && UUID.test(value)) {
      ids.add(value);
    }
  };
  look(json, '');
  return [...ids];
}
