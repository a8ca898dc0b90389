// Runs a plan against the nodes of a cluster on simulated machines and a simulated PostgreSQL, and checks that the
// cluster keeps what any of its nodes said. A run ends with faults healed: one node must then lead, every write that was
// repeated must be there once, and all copies must be equal.

import { isLogError } from '../../log/index.ts';
import { checkEnd } from './cluster-checks.ts';
import { CLIENT_MS, ClusterClients } from './cluster-clients.ts';
import { useHost } from './cluster-gateway.ts';
import type { ClusterHost, OpenGateway } from './cluster-gateway.ts';
import { isMistake } from './cluster-node.ts';
import type { ClusterNode } from './cluster-node.ts';
import type { Behind, ClusterStep, Who } from './cluster-plan.ts';
import { describe, PATIENCE_MS } from './subject.ts';
import { useNetwork } from './world/http.ts';
import { useServer } from './world/postgres.ts';
import { Broken, Process } from './world/world.ts';

/** Virtual time for which a step waits until the cluster is well. */
const LEADER_MS = 10_000;
/** Virtual time in which a healthy leader makes a key, or commits. */
const COMMIT_MS = 2000;
/** Virtual time in which a healthy cluster must have a leader, and all nodes a role. */
const RECOVERY_MS = 60_000;

export class ClusterRun extends ClusterClients {
  get entries(): number {
    return this.ledger.texts.length;
  }

  /** Whether the database lost a key file that a node has. */
  #keysLost = false;

  get leader(): ClusterNode | null {
    return this.nodes.find((node) => node.leads && !node.paused) ?? null;
  }

  async run(): Promise<void> {
    useServer(this.server);
    useNetwork(this.network);
    useHost(this.#host());
    for (const node of this.nodes) {
      node.start();
      await this.world.settle();
    }
    for (const step of this.plan.steps) {
      await this.#step(step);
      if (this.abandoned || (this.torn && this.#keysLost)) return;
      for (let turns = step.turns; turns > 0 && (await this.world.turn()); turns -= 1);
      this.#check();
    }
    await this.#end();
  }

  // What the gateways of the nodes tell.

  #host(): ClusterHost {
    const { interval_ms, idle_ms, witnesses } = this.plan;
    return {
      interval_ms,
      idle_ms,
      cosign:
        witnesses === 0
          ? null
          : (offer) => {
              // Witnesses refuse to cosign a second history.
              if (this.torn) return Promise.resolve({ note: offer.note, cosignatures: 0 });
              this.guard(() => this.ledger.take(offer.note, offer.vkey));
              return this.witnesses.cosign(offer);
            },
      opened: (gateway) => this.#opened(gateway),
      closed: (gateway) => {
        const node = this.#nodeOf(gateway.process);
        if (node?.gateway === gateway) node.gateway = null;
      },
      acknowledging: (entries) => this.guard(() => this.history.checkAcknowledged(entries)),
      administers: (machine, verbs) => {
        const node = this.nodes.find((one) => one === machine);
        if (node !== undefined) node.verbs = verbs;
      },
    };
  }

  #nodeOf(process: Process): ClusterNode | undefined {
    return this.nodes.find((node) => node.process === process);
  }

  #opened(gateway: OpenGateway): void {
    const node = this.#nodeOf(gateway.process);
    if (node === undefined) return;
    node.gateway = gateway;
    this.world.trace(
      () =>
        `opens as ${gateway.leads ? 'leader' : 'follower'} with ${String(gateway.log.size())} entries`,
    );
    const look = (): void => {
      if (gateway.process.alive) this.guard(() => this.#published(gateway));
    };
    look();
    gateway.log.onPublished(look);
  }

  /** Takes the checkpoint that a node shows. */
  #published({ log }: OpenGateway): void {
    const { size, note } = log.published();
    if (size === 0 || this.torn) return;
    const { ledger } = this;
    ledger.take(note, log.vkey);
    const last = ledger.published.at(-1)?.size ?? 0;
    if (size > last)
      ledger.publish(log, (heads) => this.world.random('check').int(Math.max(1, heads)));
  }

  // Steps.

  who(who: Who): ClusterNode | null {
    if (typeof who === 'number') return this.nodes[who % this.nodes.length] ?? null;
    if (who === 'leader') return this.leader;
    return this.nodes.find((node) => node.gateway?.leads === false) ?? null;
  }

  async #step(step: ClusterStep): Promise<void> {
    const { world, server, network } = this;
    if (step.do !== 'pass') world.trace(() => `* ${JSON.stringify(step)}`);
    await world.settle();
    switch (step.do) {
      case 'pass':
        await world.pass(step.ms);
        break;
      case 'start':
        for (const node of this.nodes) {
          node.start();
          await world.settle();
        }
        break;
      case 'join':
        this.#join();
        break;
      case 'slow network':
        network.slowness = step.factor;
        for (const node of this.nodes) server.link(node).slowness = step.factor;
        break;
      case 'disk well':
        for (const node of this.nodes) node.files.faults.full = false;
        break;
      case 'database restarts':
        server.kill(world.random('database'));
        await world.pass(step.ms);
        server.start();
        break;
      case 'failover':
        if (typeof step.behind === 'string') await this.#alone(step.behind, step.lag_ms);
        await this.#failover(step.ms, step.lag_ms);
        // Long enough for another node to lead.
        if (step.behind === 'commits alone' && !this.abandoned) await world.pass(8000);
        break;
      case 'heal':
        await this.#giveBack();
        break;
      case 'clock':
        if (step.who === 'database') server.skew_ms += step.ms;
        else {
          const node = this.who(step.who);
          if (node !== null) node.skew_ms += step.ms;
        }
        break;
      case 'strike':
        this.#strike(step);
        break;
      case 'step down': {
        const verb = this.leader?.verbs['cluster step-down'];
        const process = this.leader?.process;
        if (verb !== undefined && process !== undefined && process !== null) {
          world.as(process, () => void verb({}).catch(() => undefined));
        }
        break;
      }
      case 'append':
      case 'once':
      case 'many':
      case 'row':
      case 'disclose':
      case 'erase':
      case 'rotate':
        this.ask(step);
        break;
      case 'read':
        this.#checkNode(this.nodes[step.at % this.nodes.length]);
        break;
      default: {
        const node = this.who(step.who);
        if (node !== null) await this.#strikeNode(node, step);
      }
    }
    await world.settle();
  }

  async #strikeNode(
    node: ClusterNode,
    step: Extract<ClusterStep, { readonly who: Who }>,
  ): Promise<void> {
    const { world, server } = this;
    switch (step.do) {
      case 'kill':
        // Rounds are applied without a sync, and a copy may be the only one that has what the database lost.
        if (step.power && this.history.lost.length > 0) this.torn = true;
        await node.kill(step.power);
        return;
      case 'stop':
        node.stopped = true;
        if (!node.paused) await node.stop(PATIENCE_MS);
        return;
      case 'wipe':
        await node.kill(false);
        // A copy may be the only one that has what the database lost.
        if (this.history.lost.length > 0) this.torn = true;
        node.wipe();
        return;
      case 'pause': {
        const { process } = node;
        if (process === null || node.paused) return;
        world.pause(process);
        world.after(
          step.ms * 1000,
          () => {
            if (step.suspended) node.suspended_us += step.ms * 1000;
            world.resume(process);
          },
          new Process('operator'),
        );
        return;
      }
      case 'cut':
        server.cut(node);
        return;
      case 'part':
        server.link(node).set(step.how);
        if (step.how === 'refuse') server.cut(node);
        return;
      case 'part nodes':
        this.network.cut(node);
        return;
      case 'disk full':
        node.diskRefused = true;
        node.files.faults.full = true;
        return;
    }
  }

  #strike({ statement, moment, kill }: Extract<ClusterStep, { do: 'strike' }>): void {
    for (const node of this.nodes) {
      this.server.aim({
        machine: node,
        statement,
        moment,
        act: (session) => {
          this.server.forgetAims();
          session.cut();
          // The process ends behind the completion that struck it.
          if (kill) this.world.after(0, () => void node.kill(false), new Process('operator'));
        },
      });
    }
  }

  #join(): void {
    for (const node of this.nodes) this.server.link(node).set('well');
    for (const node of this.nodes) this.server.link(node).slowness = 1;
    this.network.heal();
  }

  /** Whether nothing is wrong with the nodes and their networks. */
  get #whole(): boolean {
    return this.nodes.every(
      (node) =>
        node.gateway !== null &&
        !node.paused &&
        !node.files.faults.full &&
        this.server.link(node).state === 'well',
    );
  }

  /**
   * In a cluster that is well, has the leader make a key, or commit rounds, that no other node sees before the database
   * ends. Whatever was committed before is older than `lag_ms`.
   */
  async #alone(behind: Behind, lag_ms: number): Promise<void> {
    const { world, history, server } = this;
    this.#join();
    for (const node of this.nodes) {
      node.start();
      await world.settle();
    }
    await world.until(() => this.#whole && this.leader !== null, LEADER_MS);
    await world.pass(lag_ms);
    const { leader } = this;
    if (leader === null) return;
    const others = this.nodes.filter((node) => node !== leader);
    for (const node of others) this.#refuse(node);
    const at = this.nodes.indexOf(leader);
    if (behind === 'new key') {
      const state = { over: false };
      const over = (): void => {
        state.over = true;
      };
      this.send(at, { do: 'rotate' }, over, over);
      await world.until(() => state.over, COMMIT_MS);
      // The database may end while the leader makes another one.
      if (world.random('database').chance(0.5)) {
        this.send(at, { do: 'rotate' });
        for (let turns = world.random('database').int(40); turns > 0; turns -= 1)
          await world.turn();
      }
    } else {
      for (let nth = world.random('database').between(1, 4); nth > 0; nth -= 1) {
        this.append(at, this.notes([nth]));
        const { commits } = history;
        await world.until(() => history.commits > commits, COMMIT_MS);
      }
      this.#refuse(leader);
    }
    for (const node of others) server.link(node).set('well');
  }

  /** Connections between a node and the database are refused from now on. */
  #refuse(node: ClusterNode): void {
    this.server.link(node).set('refuse');
    this.server.cut(node);
  }

  async #failover(ms: number, lag_ms: number): Promise<void> {
    const { world, server, history } = this;
    const random = world.random('database');
    server.kill(random);
    await world.pass(ms);
    const whole = this.#whole;
    const changes = server.promote(lag_ms, random.between(-300, 300));
    this.#forget(changes.map(({ row }) => row));
    const lost = changes.flatMap(({ round }) => round ?? []);
    if (lost.length === 0) return;
    world.trace(
      () => `lost ${lost.map(({ stream, seq }) => `${stream}/${String(seq)}`).join(', ')}`,
    );
    history.lose(lost);
    if (!whole || this.torn) {
      this.torn = true;
      return;
    }
    // Some node has applied what was lost and can say so: nobody may lead until it is given back.
    const { conflicts } = history;
    const ahead = this.nodes.some((node) => this.#isAhead(node));
    await world.pass(8000);
    if (!ahead) this.torn = true;
    else if (history.conflicts > conflicts) {
      throw new Broken('led over lost rounds', 'rounds were committed in place of those of a node');
    }
  }

  /** Takes into account which rows besides rounds the database has lost. */
  #forget(rows: readonly string[]): void {
    const { register } = this.server.tables;
    // A cluster whose founding was lost says so, and is founded again.
    this.abandoned ||= rows.some(
      (row) =>
        row === 'secret/salt' ||
        row === 'secret/check' ||
        (row.startsWith('register/') && !register.has(row.slice('register/'.length))),
    );
    this.#keysLost ||= rows.some((row) => row.startsWith('secret/file/'));
    // A gateway repeats erasures at its start, from the entries that state them; this one has none.
    for (const [key, known] of this.secrets) {
      if (!rows.includes(`secret/disclosure/${key}`)) continue;
      known.erased = false;
      // Rounds that use it are given back, and the key is not.
      known.gone ||= rows.some((row) => row.startsWith('round/'));
    }
  }

  #isAhead(node: ClusterNode): boolean {
    const positions = node.gateway?.member.view.applied() ?? {};
    return this.history.lost.some(({ stream, seq }) => (positions[stream] ?? 0) >= seq);
  }

  /**
   * The operator gives back what the database has lost, at each node that has some of it. With `accept_loss`, what a node
   * had before it lost its data folder is given up.
   */
  async #giveBack(accept_loss = false): Promise<void> {
    const { world, history } = this;
    if (history.lost.length === 0) return;
    for (const node of this.nodes) {
      const { process } = node;
      const heal = node.verbs['cluster heal'];
      if (process === null || heal === undefined || node.paused) continue;
      const { commits } = history;
      const state: { done: boolean; error: unknown } = { done: false, error: null };
      world.as(process, () => {
        heal({ accept_loss }).then(
          () => (state.done = true),
          (error: unknown) => {
            state.done = true;
            state.error = error;
          },
        );
      });
      await world.until(() => state.done || !process.alive, PATIENCE_MS);
      world.trace(
        () => `heal at ${node.name}: ${state.error === null ? 'done' : describe(state.error)}`,
      );
      if (isMistake(state.error)) throw new Broken('mistake', describe(state.error));
      const refused = isLogError(state.error) && state.error.code === 'store_corrupt';
      if (refused && history.commits > commits && this.leader === null) {
        throw new Broken('heal', 'it was refused, and has changed something');
      }
    }
    await world.settle();
  }

  // Checks.

  #check(): void {
    this.world.check();
    for (const node of this.nodes) this.#checkNode(node);
    this.world.check();
  }

  /** What a node shows of the entries that were acknowledged. */
  #checkNode(node: ClusterNode | undefined): void {
    const gateway = node?.gateway;
    if (node === undefined || gateway === undefined || gateway === null || this.torn) return;
    const { log } = gateway;
    const size = log.size();
    const { acknowledged } = this.ledger;
    const random = this.world.random('check');
    const indexes = [...acknowledged.keys()];
    for (const index of [
      ...indexes.slice(-2),
      ...indexes.slice(random.int(indexes.length + 1)).slice(0, 1),
    ]) {
      if (index >= size) continue;
      if (log.entry(index) !== acknowledged.get(index)) {
        throw new Broken('receipt replaced', `entry ${String(index)} at ${node.name}`);
      }
    }
    this.history.checkPositions(node);
  }

  /** Heals everything and holds the cluster to what it promised. */
  async #end(): Promise<void> {
    const { world, server } = this;
    await world.settle();
    world.trace(() => '* the end: everything is healed');
    server.forgetAims();
    if (!server.up) server.start();
    this.#join();
    this.witnesses.heal();
    for (const node of this.nodes) {
      node.files.faults.full = false;
      if (node.process !== null) world.resume(node.process);
    }
    await world.pass(1);
    for (const node of this.nodes) {
      node.start();
      await world.settle();
    }
    if (this.history.lost.length > 0) {
      await world.until(() => this.#settledRoles, RECOVERY_MS);
      await this.#giveBack();
    }
    await this.#recover();
    await checkEnd(this);
    // A node without a folder begins from a snapshot and the rounds after it.
    const last = this.nodes.at(-1);
    if (last === undefined || !world.random('end').chance(0.3)) return;
    await last.kill(false);
    last.wipe();
    last.start();
    await this.#recover();
    await checkEnd(this);
  }

  get #settledRoles(): boolean {
    return this.nodes.every(({ gateway, forked }) => gateway !== null || forked !== null);
  }

  get #led(): boolean {
    return (
      this.#settledRoles &&
      this.nodes.filter(({ leads }) => leads).length === 1 &&
      // A node whose history has forked may not have noticed it.
      this.nodes.every((node) => node.forked !== null || this.history.contains(node))
    );
  }

  /**
   * Waits until one node leads and all have a role. None leads while one has reported rounds that no node has any more:
   * then the operator gives them up.
   */
  async #leads(): Promise<boolean> {
    const { world } = this;
    if (await world.until(() => this.#led, RECOVERY_MS)) return true;
    if (!this.torn) return false;
    await this.#giveBack(true);
    return world.until(() => this.#led, RECOVERY_MS);
  }

  /** Waits until one node leads and all have a role; a node whose history has forked gets a new folder. */
  async #recover(): Promise<void> {
    const { world } = this;
    for (;;) {
      if (!(await this.#leads())) {
        const roles = this.nodes.map(
          ({ name, gateway }) =>
            `${name} ${gateway === null ? 'no role' : gateway.leads ? 'leads' : 'follows'}`,
        );
        throw new Broken('no leader', roles.join(', '));
      }
      const forked = this.nodes.filter((node) => node.forked !== null);
      if (forked.length === 0) break;
      if (!this.torn) throw new Broken('forked', forked.map(({ forked: why }) => why).join('\n'));
      for (const node of forked) {
        await node.kill(false);
        node.wipe();
        node.start();
        await world.settle();
      }
    }
    await this.#acknowledged('a write is never acknowledged');
    // A write through each node, within bounded time.
    for (const at of this.nodes.keys()) {
      const drafts = this.notes([at]);
      this.once.push({ key: `end/${String(this.n)}`, drafts, state: 'waiting' });
      this.retry(at);
    }
    await this.#acknowledged('a healthy cluster does not acknowledge a write');
  }

  /** Repeats what was not acknowledged until all of it is. */
  async #acknowledged(otherwise: string): Promise<void> {
    const { world } = this;
    const end_us = world.now_us + RECOVERY_MS * 1000;
    for (let tries = 0; ; tries += 1) {
      this.retry(tries);
      await world.until(() => this.once.every(({ state }) => state !== 'sent'), CLIENT_MS);
      this.once = this.once.filter(({ state }) => state !== 'done');
      if (this.once.length === 0) return;
      if (world.now_us > end_us) throw new Broken('not writable', otherwise);
      await world.pass(500);
    }
  }
}
