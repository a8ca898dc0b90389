// One node of a cluster: decides its role, keeps its copies up to date, and opens a gateway in that role.
//
// A loop polls the database once a second, and earlier when a notification, the lease or a request asks for it. On a
// follower each turn compares the copies with the database, applies the rounds that are missing, and takes the lease if
// it has expired. A change of the role closes the gateway and opens another one on the same copies; requests wait
// meanwhile. A node does not lead
//   - while any node has applied rounds that the database lacks, itself included: the database has lost commits;
//   - in the seconds after its connection to the database failed, in which the database may have been replaced: other
//     nodes first get the time to report such rounds.
// A node whose copy has another round than the database at some number serves nothing: one of the two histories is a fork.
// Its lost rounds have been replaced by others, so it does not keep other nodes from leading.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ClusterDatabase,
  isLogError,
  LogError,
  makeFolder,
  openThreads,
  registerName,
  Secrets,
  SharedRows,
} from '../../log/index.ts';
import type { Kind, Leadership, Succession, Threads } from '../../log/index.ts';
import type { ConfigSources } from '../config.ts';
import type { Gateway } from '../gateway.ts';
import { listen } from '../http/listen.ts';
import { securityHeaderList } from '../http/middleware.ts';
import type { Listening } from '../http/listen.ts';
import { openGateway } from '../open.ts';
import type { OpenedGateway, OpenOptions } from '../open.ts';
import { passphraseOf } from '../passphrase.ts';
import { activate } from '../server.ts';
import type { Active, RunningServer } from '../server.ts';
import { serveAdmin } from '../tenants/admin-socket.ts';
import type { AdminVerbs } from '../tenants/admin.ts';
import { AdminError } from '../tenants/tenants.ts';
import type { IssuedKey } from '../tenants/tenants.ts';
import { clusterVerbs } from './administration.ts';
import type { Applied, ClusterView, Membership } from './cluster.ts';
import { checkComplete, compare, forkedMessage, lostMessage } from './comparison.ts';
import { Copies } from './copies.ts';
import { clusterIn, GATEWAY_STREAM, joinCluster, logsOf, streamsOf } from './joining.ts';
import type { ClusterIdentity } from './joining.ts';
import { KeyFolder } from './key-folder.ts';
import { lossOf, reportAll, reportedLoss } from './lost-rounds.ts';
import { succeedInCluster } from './succession.ts';
import { answerNotReady, finalError, Waiting } from './waiting.ts';

const POLL_MS = 1000;
const RETRY_MS = 250;
/** Shortest time between two turns that notifications cause, so that a busy leader costs a follower little. */
const TURN_MS = 10;
/** After a failed connection, how long a node that has taken the lease waits for reports of lost rounds. */
const QUIET_MS = 1500;
/** How long a connection failure counts as recent. */
const RECENT_MS = 5000;
/** How long a node that stepped down, or failed to lead, leaves the lease to others. */
const ABSTAIN_MS = 3000;
/** How long a request waits while the gateway changes its role. */
const WAIT_MS = 5000;
/** How long an answer waits for the rounds that it rests on. */
const REACH_MS = 3000;
/** How long a gateway that ends may take for its deliveries and requests in flight. */
const END_MS = 1000;

/** A row that the leader puts when everything that a follower needs is committed. */
const OPENED = 'cluster-opened';
/** A row that changes when the key files have changed. */
const KEYS = 'cluster-keys';
/** A row with the logs of the cluster. */
const LOGS = 'cluster-logs';

/** An open gateway and its role. */
interface Serving {
  readonly leads: boolean;
  readonly opened: OpenedGateway;
  readonly active: Active;
}

/** Starts a node, and resolves when it serves as leader or follower. */
export async function startNode(
  sources: ConfigSources,
  options: OpenOptions,
): Promise<RunningServer> {
  const node = new Node(sources, options);
  try {
    return await node.start();
  } catch (error) {
    await node.close();
    throw error;
  }
}

class Node {
  readonly #sources: ConfigSources;
  readonly #options: OpenOptions;
  readonly #waiting = new Waiting();
  readonly #verbs: Record<string, AdminVerbs[string]> = {};
  #database!: ClusterDatabase;
  #secrets!: Secrets;
  #keys!: KeyFolder;
  #identity!: ClusterIdentity;
  #copies!: Copies;
  #threads!: Threads;
  #listening: Listening | null = null;
  #serving: Serving | null = null;
  #first_keys: readonly IssuedKey[] = [];
  #leadership: Leadership | null = null;
  /** When this node last knew that it had every round. */
  #current_ms = performance.now();
  /** Why the leadership ended, until the loop has closed the gateway. */
  #deposed: unknown = null;
  /** Why the node serves nothing at all, and will not without the operator. */
  #refusal: string | null = null;
  /** An error of a plugin or a setting: no later try helps, and the start ends with it. */
  #failure: Error | null = null;
  /** Why the node does not lead although it could; for `cluster status`. */
  #withheld: string | null = null;
  #abstain_ms = 0;
  #reopen = false;
  #requests = 0;
  /** What a command does between two turns of the loop. */
  #asked: (() => Promise<void>) | null = null;
  #loop: Promise<void> | null = null;
  #stopping = false;

  constructor(sources: ConfigSources, options: OpenOptions) {
    const { config } = sources;
    // The listener has the time of the configuration; a gateway that changes its role ends soon.
    const SHUTDOWN_TIMEOUT_MS = Math.min(END_MS, config.SHUTDOWN_TIMEOUT_MS);
    this.#sources = { ...sources, config: { ...config, SHUTDOWN_TIMEOUT_MS } };
    this.#options = options;
  }

  async start(): Promise<RunningServer> {
    const { config } = this.#sources;
    const { logger } = this.#options;
    await makeFolder(config.DATA_DIR, 0o700);
    const headers = securityHeaderList(config.BASE_URL.startsWith('https:'));
    this.#listening = await listen(
      config,
      (req, res) => void this.#handle(req, res, headers),
      headers,
    );
    const onLost = (): void => this.#depose(new LogError('log_unavailable', 'the lease is lost'));
    this.#database = await ClusterDatabase.open(config.DATABASE_URL, {
      address: config.ADVERTISE,
      onLost,
    });
    this.#secrets = await Secrets.open(this.#database, passphraseOf(config) ?? '');
    this.#keys = new KeyFolder(`${config.DATA_DIR}/keys`, this.#secrets);
    this.#identity = await joinCluster({
      config,
      database: this.#database,
      secrets: this.#secrets,
      logger,
    });
    this.#threads = openThreads({ inline: config.THREADS === 'off' });
    this.#copies = new Copies({
      data: config.DATA_DIR,
      database: this.#database,
      cluster: this.#identity.id,
      folders: streamsOf(this.#identity, config.DATA_DIR),
      snapshot_bytes: config.CLUSTER_SNAPSHOT_BYTES,
      logger,
      onFailure: (error) => this.#depose(error),
      onApplied: () => this.#waiting.changed(),
    });
    Object.assign(this.#verbs, this.#clusterVerbs());
    const admin = await serveAdmin(config.DATA_DIR, this.#verbs);
    await this.#copies.open();
    this.#loop = this.#run().finally(() => admin.close());
    await this.#waiting.until(() => this.#decided());
    const serving = this.#serving;
    if (this.#failure !== null) throw this.#failure;
    if (serving === null) throw new LogError('store_corrupt', this.#refusal ?? '');
    logger.info({ role: serving.leads ? 'leader' : 'follower' }, 'the node serves');
    const gateway = (): Gateway => (this.#serving ?? serving).opened.gateway;
    return {
      get gateway() {
        return gateway();
      },
      port: this.#listening.port,
      first_keys: this.#first_keys,
      close: () => this.close(),
    };
  }

  async close(): Promise<void> {
    if (this.#stopping) return;
    this.#serving?.opened.stop();
    if (this.#listening !== null && this.#serving !== null) {
      await sleep(this.#sources.config.SHUTDOWN_DELAY_MS);
    }
    await this.#listening?.close();
    this.#stopping = true;
    this.#waiting.end();
    await this.#loop;
    await this.#closeServing();
    await (this.#copies as Copies | undefined)?.close();
    await (this.#threads as Threads | undefined)?.close();
    const database = this.#database as ClusterDatabase | undefined;
    if (database !== undefined && database.lease.epoch !== null) {
      await database.lease.release();
      await database.postgres.once('NOTIFY actlog').catch(() => undefined);
    }
    await database?.close();
  }

  // The loop

  async #run(): Promise<void> {
    let trouble: string | null = null;
    while (!this.#stopping) {
      const before = performance.now();
      let wait = RETRY_MS;
      try {
        wait = await this.#turn();
        trouble = null;
      } catch (err) {
        this.#keys.outdated = true; // no gateway was open that reports a new key
        this.#failure ??= finalError(err);
        // Once, although the turns that follow may fail in the same way.
        if (trouble !== String(err))
          this.#options.logger.warn({ err }, 'a turn of the cluster failed');
        trouble = String(err);
      }
      this.#waiting.changed();
      await this.#waiting.pause(wait, before + TURN_MS - performance.now());
    }
  }

  /** Returns the milliseconds until the next turn. */
  async #turn(): Promise<number> {
    if (this.#deposed !== null) {
      await this.#stepDown();
      // Reads go on at once, also without the database.
      await this.#openAs(false);
    }
    if (this.#asked !== null) {
      await this.#asked();
      this.#asked = null;
    }
    if (this.#copies.refused && !(await this.#reopenCopies())) return POLL_MS;
    if (this.#serving?.leads === true) {
      this.#current_ms = performance.now();
      this.#copies.takeSnapshots();
      // A write would fail as well, but a leader without writes would go on leading.
      const lost = await lossOf(this.#database, this.#copies);
      if (lost !== null) this.#depose(lost);
      return POLL_MS;
    }
    let leadership: Leadership | null;
    try {
      await this.#database.listen(() => this.#waiting.wake());
      leadership = this.#leadership = await this.#database.leadership();
      if (!(await this.#compare())) return POLL_MS;
      await this.#copies.pull(this.#serving !== null, () => this.#stopping);
      this.#refusal = null;
      if (this.#withheld !== null && (leadership?.left_ms ?? 0) > 0) {
        this.#withheld = await reportedLoss(this.#database); // another node may lead since
      }
      this.#current_ms = performance.now();
      // Only here: without the database, a node serves with the keys that it had.
      if (this.#keys.outdated && (await this.#takeKeys())) this.#reopen = true;
    } catch (error) {
      if (isLogError(error) && error.code !== 'log_unavailable') await this.#broken(error);
      else if (this.#serving === null) await this.#openAs(false);
      return RETRY_MS;
    }
    if (this.#reopen) {
      this.#reopen = false;
      await this.#closeServing();
    }
    const free = leadership === null || leadership.left_ms <= 0;
    if (free && performance.now() >= this.#abstain_ms) await this.#tryToLead();
    if (this.#serving === null) await this.#openAs(false);
    const left = this.#leadership?.left_ms ?? 0;
    return free ? RETRY_MS : Math.min(POLL_MS, Math.max(0, left) + 5);
  }

  /** Compares the copies with the database. False if this node must not go on. */
  async #compare(): Promise<boolean> {
    const { ADVERTISE } = this.#sources.config;
    const { forked, ahead } = await compare(this.#database, this.#copies);
    if (forked !== null) {
      // First: the operator may replace the folder as soon as the node says that its history has forked.
      const withdrawn = this.#database.withdrawSeen(ADVERTISE);
      await withdrawn.finally(() => this.#refuse(forkedMessage(forked)));
      return false;
    }
    if (ahead.length === 0) return true;
    this.#refusal = null;
    for (const { stream, seq } of ahead) await this.#database.reportSeen(stream, ADVERTISE, seq);
    this.#keys.databaseLost();
    const lost = lostMessage(ahead);
    if (this.#withheld !== lost) this.#options.logger.error(lost);
    this.#withheld = lost;
    this.#leadership = null;
    if (this.#serving === null) await this.#openAs(false);
    return false;
  }

  async #tryToLead(): Promise<void> {
    const { lease } = this.#database;
    const { logger } = this.#options;
    if (!(await lease.tryAcquire())) return;
    try {
      await this.#learnLogs();
      await this.#copies.pull(this.#serving !== null, () => this.#stopping);
      if (this.#database.postgres.sinceFailure_ms < RECENT_MS) await sleep(QUIET_MS);
      const fit = await this.#compare();
      const why = fit ? await reportedLoss(this.#database) : (this.#refusal ?? this.#withheld);
      if (why !== null) {
        if (this.#withheld !== why) logger.error(why);
        this.#withheld = why;
        this.#abstain_ms = performance.now() + POLL_MS;
        await lease.release();
        return;
      }
      this.#withheld = null;
      await this.#closeServing();
      await this.#openAs(true);
    } catch (err) {
      this.#failure ??= finalError(err);
      logger.error({ err }, 'this node could not begin to lead');
      this.#withheld = err instanceof Error ? err.message : String(err);
      this.#abstain_ms = performance.now() + ABSTAIN_MS;
      await this.#copies.stopLeading();
      await lease.release();
      this.#deposed = null;
    }
  }

  /** Whether a request, or the start, knows what this node answers. */
  #decided(): boolean {
    return this.#serving !== null || this.#refusal !== null || this.#failure !== null;
  }

  /** Called at any time: nothing is acknowledged from here on. */
  #depose(error: unknown): void {
    if (this.#deposed !== null) return;
    this.#deposed = error;
    if (isLogError(error) && error.code === 'rounds_lost') this.#keys.databaseLost();
    const copies = this.#copies as Copies | undefined;
    void copies?.stopLeading();
    this.#waiting.wake();
  }

  async #stepDown(): Promise<void> {
    const { logger } = this.#options;
    const error = this.#deposed;
    logger.warn({ err: error }, 'this node does not lead any more');
    await this.#copies.stopLeading();
    // Before the lease is free: the report keeps another node from leading on a database that has lost commits.
    if (isLogError(error) && error.code === 'rounds_lost') {
      await reportAll(this.#database, this.#copies, this.#sources.config.ADVERTISE);
    }
    await this.#database.lease.release();
    this.#database.notify();
    await this.#closeServing();
    this.#abstain_ms = Math.max(this.#abstain_ms, performance.now() + RETRY_MS);
    this.#deposed = null;
  }

  /**
   * Opens the copies again after the disk has refused a write. False while it has no room: reads go on, from copies that
   * take no rounds.
   */
  async #reopenCopies(): Promise<boolean> {
    if (!(await this.#copies.hasRoom())) {
      this.#leadership = await this.#database.leadership().catch(() => this.#leadership);
      if (this.#serving === null) await this.#openAs(false);
      return false;
    }
    await this.#closeServing();
    await this.#copies.reopen();
    this.#options.logger.warn('the disk takes writes again, and the copies are opened again');
    return true;
  }

  async #broken(error: LogError): Promise<void> {
    if (error.code !== 'out_of_range') {
      await this.#refuse(error.message);
      return;
    }
    // The rounds that follow were trimmed: the copy is filled again.
    this.#options.logger.warn({ err: error }, 'the copy is too old and is filled again');
    await this.#closeServing();
    await this.#copies.renew();
  }

  async #refuse(why: string): Promise<void> {
    if (this.#refusal !== why) this.#options.logger.error(why);
    this.#refusal = why;
    this.#leadership = null;
    await this.#closeServing();
  }

  // The gateway

  async #openAs(leads: boolean): Promise<void> {
    if (this.#stopping || this.#refusal !== null) return;
    const rows = new SharedRows(this.#copies.of(GATEWAY_STREAM));
    if (!leads && !rows.has(OPENED)) return;
    if (leads) this.#copies.lead(this.#database.lease.epoch ?? '0');
    if (leads) await this.#takeKeys();
    const told = rows.get(LOGS);
    if (!leads && told !== undefined && String(told) !== logsOf(this.#identity)) {
      // Without the database, a follower serves the logs that it knows.
      await this.#learnLogs()
        .then(() => this.#copies.pull(false, () => this.#stopping))
        .catch((err: unknown) => this.#options.logger.warn({ err }, 'the logs are not known'));
    }
    const [member, threads] = [this.#membership(rows, leads), this.#threads];
    const opened = await openGateway(this.#sources, { ...this.#options, member, threads });
    let active: Active | null = null;
    try {
      active = await activate(opened, this.#options.logger);
      // After all that a plugin can make fail: keys that were stored and not shown would be lost.
      const { tenants } = opened.gateway;
      if (leads && tenants.empty && this.#serving === null && this.#first_keys.length === 0) {
        this.#first_keys = await tenants.issueFirst();
      }
      if (leads && !rows.has(OPENED)) await rows.put([{ key: OPENED, value: Buffer.from('true') }]);
      const logs = Buffer.from(logsOf(this.#identity));
      if (leads && !logs.equals(told ?? Buffer.of())) await rows.put([{ key: LOGS, value: logs }]);
      Object.assign(this.#verbs, active.verbs, this.#clusterVerbs());
      this.#serving = { leads, opened, active };
    } catch (error) {
      await active?.close();
      await opened.close();
      throw error;
    }
    this.#options.logger.info({ role: leads ? 'leader' : 'follower' }, 'the node has a new role');
    this.#waiting.changed();
    if (leads) this.#database.notify();
  }

  async #closeServing(): Promise<void> {
    const serving = this.#serving;
    if (serving === null) return;
    this.#serving = null;
    const deadline = performance.now() + END_MS;
    serving.opened.stop();
    // A client opens its stream again, here or at another node.
    serving.opened.gateway.events.close();
    while (this.#requests > 0 && performance.now() < deadline && this.#deposed === null) {
      await sleep(5);
    }
    for (const name of Object.keys(serving.active.verbs)) Reflect.deleteProperty(this.#verbs, name);
    Object.assign(this.#verbs, this.#clusterVerbs());
    await serving.active.close();
    await serving.opened.close();
  }

  #membership(rows: SharedRows, leads: boolean): Membership {
    return {
      view: this.#view(leads),
      register: this.#database.register,
      rows,
      secrets: this.#secrets,
      numbers: (kind: Kind) => this.#identity.logs[kind],
      replica: (kind: Kind, number: number) => this.#copies.of(registerName(kind, number)),
      shareKeys: () => this.#shareKeys(rows),
      rowChanged: (key) => {
        if (key === KEYS) this.#keys.outdated = true;
        if (key === KEYS || key === LOGS) this.#reopen = true;
      },
    };
  }

  #takeKeys(): Promise<boolean> {
    return this.#keys.take(() => checkComplete(this.#database, this.#copies));
  }

  async #shareKeys(rows: SharedRows): Promise<void> {
    await this.#keys.share();
    await rows.put([{ key: KEYS, value: Buffer.from(String(Date.now())) }]);
  }

  /** Reads which logs the cluster has, and opens copies of those that are new. */
  async #learnLogs(): Promise<void> {
    this.#identity = (await clusterIn(this.#database)) ?? this.#identity;
    await this.#copies.add(streamsOf(this.#identity, this.#sources.config.DATA_DIR));
  }

  #view(leads: boolean): ClusterView {
    return {
      role: leads ? 'leader' : 'follower',
      leader: () => (leads ? this.#sources.config.ADVERTISE : this.#leaderAddress()),
      applied: () => this.#copies.applied(),
      lag_ms: () => (leads ? 0 : this.#lag()),
      reached: (applied) => this.#reached(applied),
      forward_key: this.#secrets.derived('forward'),
    };
  }

  #leaderAddress(): string | null {
    const leadership = this.#leadership;
    if (leadership === null || leadership.holder === this.#database.lease.holder) return null;
    return leadership.left_ms > 0 ? leadership.address : null;
  }

  #lag(): number {
    const since = performance.now() - this.#current_ms;
    return Math.round(since > POLL_MS + RETRY_MS ? since : 0);
  }

  async #reached(applied: Applied): Promise<void> {
    if (this.#copies.have(applied)) return;
    this.#waiting.wake();
    await this.#waiting.until(() => this.#copies.have(applied), REACH_MS);
  }

  // Requests

  async #handle(
    req: IncomingMessage,
    res: ServerResponse,
    headers: readonly (readonly [string, string])[],
  ): Promise<void> {
    await this.#waiting.until(() => this.#decided(), WAIT_MS);
    const serving = this.#serving;
    if (serving !== null) {
      this.#requests += 1;
      res.once('close', () => (this.#requests -= 1));
      return serving.active.handler(req, res);
    }
    const filling = (this.#copies as Copies | undefined)?.filling ?? null;
    answerNotReady(res, headers, { forked: this.#refusal !== null, filling });
  }

  // Administration

  #clusterVerbs(): AdminVerbs {
    return clusterVerbs({
      database: this.#database,
      copies: this.#copies,
      leads: () => this.#serving?.leads === true,
      leader: () => this.#leaderAddress(),
      state: () => ({
        cluster: this.#identity.id,
        address: this.#sources.config.ADVERTISE,
        role: this.#serving === null ? null : this.#serving.leads ? 'leader' : 'follower',
        epoch: this.#database.lease.epoch ?? this.#leadership?.epoch ?? null,
        lag_ms: this.#serving?.leads === true ? 0 : this.#lag(),
        problem: this.#refusal ?? this.#withheld ?? this.#copies.filling,
      }),
      giveKeysBack: () => this.#keys.giveBack(),
      healed: () => {
        this.#withheld = null;
        this.#waiting.wake();
      },
      stepDown: async () => {
        this.#abstain_ms = performance.now() + 2 * ABSTAIN_MS;
        this.#depose(new LogError('log_unavailable', 'the operator asked this node to step down'));
        await this.#waiting.until(() => this.#serving?.leads !== true, WAIT_MS);
      },
      succeed: (kind, number) => {
        if (this.#asked !== null) throw new AdminError('another succession has not ended');
        return new Promise((resolve, reject) => {
          this.#asked = () => this.#succeed(kind, number).then(resolve, reject);
          this.#waiting.wake();
        });
      },
    });
  }

  async #succeed(kind: Kind, number: number): Promise<Succession> {
    const [serving, threads] = [this.#serving, this.#threads];
    if (serving?.leads !== true) throw new AdminError('this node does not lead any more');
    const { types } = serving.opened.gateway;
    await this.#learnLogs();
    await this.#closeServing();
    try {
      const [database, copies, identity] = [this.#database, this.#copies, this.#identity];
      const rows = new SharedRows(copies.of(GATEWAY_STREAM));
      const done = await succeedInCluster(
        {
          ...{ config: this.#sources.config, database, copies, identity, types, threads },
          shareKeys: () => this.#shareKeys(rows),
        },
        kind,
        number,
      );
      this.#identity = done.identity;
      return done.succession;
    } finally {
      if (this.#deposed === null) {
        await this.#openAs(true).catch((error: unknown) => this.#depose(error));
      }
    }
  }
}
