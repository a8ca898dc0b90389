// The queue of one host in memory and on disk, with events in random order: no message is lost, and none is started twice.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { HostQueue, PAGE } from '../../../gateway/webhooks/hosts.ts';
import { nameOf } from '../../../gateway/webhooks/job.ts';
import type { Job } from '../../../gateway/webhooks/job.ts';

const HOST = '0123456789abcdef';

const job = (index: number, attempts = 0): Job => ({
  ...{ host: HOST, index, target: 'url', type: 'trigger.armed', attempts },
});

/** A model of the disk, a page that is being read, and a receiver; every method is one event. */
class Model {
  readonly queue: HostQueue;
  readonly disk = new Map<string, Job>();
  readonly begun: string[] = [];
  readonly #flying = new Set<string>();
  readonly #ended = new Set<string>();
  #read: { readonly rows: readonly Job[] } | null = null;
  #next: number;

  constructor(there: number) {
    for (let index = 0; index < there; index += 1) this.disk.set(nameOf(job(index)), job(index));
    this.#next = there;
    this.queue = new HostQueue(HOST, there === 0);
  }

  /** Commits and acknowledges this number of messages in one round. */
  come(count: number): void {
    const jobs = Array.from({ length: count }, (_, i) => job(this.#next + i));
    this.#next += count;
    for (const one of jobs) this.disk.set(nameOf(one), one);
    for (const one of jobs) this.queue.put(one);
  }

  beginPage(): void {
    if (this.#read !== null || !this.queue.mustRead) return;
    this.#ended.clear();
    const after = this.queue.beginPage();
    const names = [...this.disk.keys()].filter((name) => name > after).sort();
    this.#read = { rows: names.slice(0, PAGE).map((name) => this.disk.get(name) ?? job(-1)) };
  }

  endPage(): void {
    if (this.#read === null) return;
    const { rows } = this.#read;
    this.#read = null;
    const free = rows.map(nameOf).map((name, i) => [name, rows[i] ?? job(-1)] as const);
    const jobs = free
      .filter(([name]) => !this.#flying.has(name) && !this.#ended.has(name))
      .map(([, one]) => one);
    const last = rows.at(-1);
    this.queue.endPage(jobs, last === undefined ? '' : nameOf(last), rows.length === PAGE);
  }

  begin(): void {
    const taken = this.queue.take();
    if (taken === undefined) return;
    const name = nameOf(taken);
    assert.ok(!this.#flying.has(name), 'begun while it is in flight');
    assert.ok(this.disk.has(name), 'begun after it was delivered');
    this.#flying.add(name);
    this.begun.push(name);
  }

  /** The first message in flight is delivered, or is queued again. */
  end(again: boolean): void {
    const [name = ''] = this.#flying;
    const old = this.disk.get(name);
    if (old === undefined) return;
    this.#flying.delete(name);
    if (this.#read !== null) this.#ended.add(name);
    this.disk.delete(name);
    if (!again) return;
    this.#ended.delete(name);
    this.disk.set(name, { ...old, attempts: old.attempts + 1 });
    this.queue.put({ ...old, attempts: old.attempts + 1 });
  }

  drain(): void {
    this.endPage();
    do {
      while (this.#flying.size > 0) this.end(false);
      this.beginPage();
      this.endPage();
      this.begin();
    } while (this.#flying.size > 0 || this.queue.mustRead);
  }
}

const event = fc.oneof(
  fc.integer({ min: 1, max: PAGE }).map((count) => (model: Model) => model.come(count)),
  fc.constant((model: Model) => model.beginPage()),
  fc.constant((model: Model) => model.endPage()),
  fc.integer({ min: 1, max: PAGE }).map((count) => (model: Model) => {
    for (let i = 0; i < count; i += 1) model.begin();
  }),
  fc.boolean().map((again) => (model: Model) => model.end(again)),
  fc.constant((model: Model) => model.queue.reread()),
);

describe('the messages of a host', () => {
  it('are each started once for each time that they are ready, in any order of events', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3 * PAGE }),
        fc.array(event, { maxLength: 60 }),
        (there, events) => {
          const model = new Model(there);
          for (const happen of events) happen(model);
          model.drain();
          assert.equal(model.disk.size, 0, 'the queue is empty');
          assert.ok(model.queue.done);
        },
      ),
    );
  });

  it('take at most two pages of memory, however many there are', () => {
    const model = new Model(0);
    for (let i = 0; i < 10; i += 1) model.come(PAGE);
    assert.equal(model.queue.size, 2 * PAGE);
    model.drain();
    assert.equal(new Set(model.begun).size, 10 * PAGE);
  });
});
