// Worker threads that run typed jobs off the event loop: signing, verifying, folding the head map, and the heavy work
// of plugins. Server only.
//
// A module that has such work exports `threadJobs`: its own URL and a function that makes its jobs. Each thread imports
// that module and makes the jobs once, so that state which they share lives as long as the thread. The pool starts
// threads, transfers buffers, matches answers to calls, and rejects the calls of a thread that ends. This file is also
// the code that such a thread starts with (see the end).

import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { isLogError, LogError, type LogErrorCode } from './errors.ts';

/** A unit of work. Its input and its output cross between threads as structured clones. */
export interface Job<Input, Output> {
  run(input: Input): Output | Promise<Output>;
  /**
   * Buffers of the input that are transferred to the thread instead of copied. The caller cannot use them afterwards.
   */
  takes?(input: Input): ArrayBuffer[];
  /** Buffers of the output that are transferred back instead of copied. The thread cannot use them afterwards. */
  gives?(output: Output): ArrayBuffer[];
}

/** The jobs of a module by name. */
export type Jobs = Readonly<Record<string, Job<never, unknown>>>;

/** What a module with jobs exports under the name `threadJobs`. */
export interface ThreadJobs<J extends Jobs> {
  /** `import.meta.url` of the module. */
  readonly url: string;
  /** Makes the jobs: once in each thread, and once in the pool. */
  readonly make: () => J;
}

type InputOf<J> = J extends { run(input: infer Input): unknown } ? Input : never;
type OutputOf<J> = J extends { run(input: never): infer Output } ? Awaited<Output> : never;

export interface WorkerPoolOptions<J extends Jobs> {
  /** What the threads do, for messages, such as `signing`. */
  readonly name: string;
  /** The maximum number of threads. With 0, every job runs at once on the calling thread. */
  readonly threads: number;
  /** Sends a new thread the jobs that it must run before all others. With `threads: 0`, they run in the constructor. */
  readonly prepare?: (tell: Tell<J>) => void;
  /** Whether the next call starts a new thread for one that ended. Default: true; false if a thread holds state. */
  readonly replace?: boolean;
}

/** Runs a job without an answer. */
export type Tell<J extends Jobs> = <K extends keyof J & string>(
  job: K,
  input: InputOf<J[K]>,
) => void;

interface Waiting {
  readonly id: number;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Thread {
  readonly worker: Worker;
  /** Calls without an answer. An array, because a V8 Map that has grown keeps its old backing store reachable. */
  waiting: Waiting[];
}

/** A message to a thread. The thread answers only a message with an id. */
interface Call {
  readonly job: string;
  readonly id?: number;
  readonly input: unknown;
}

type Answer =
  | { readonly id: number; readonly output: unknown }
  | { readonly id: number; readonly code: LogErrorCode | null; readonly message: string };

/**
 * Runs the jobs of one module. Threads start with the first calls and keep the process alive only while a call has no
 * answer. Calls to one thread begin in the order in which they are made.
 */
export class WorkerPool<J extends Jobs> {
  readonly #module: ThreadJobs<J>;
  readonly #options: WorkerPoolOptions<J>;
  /** The jobs on this thread. They run here with `threads: 0`; otherwise only their `takes` is called here. */
  readonly #local: J;
  #threads: Thread[] = [];
  #nextId = 0;
  #ended: LogError | null = null;

  constructor(module: ThreadJobs<J>, options: WorkerPoolOptions<J>) {
    this.#module = module;
    this.#options = options;
    this.#local = module.make();
    if (options.threads === 0) {
      options.prepare?.((job, input) => (this.#local[job] as AnyJob).run(input));
    }
  }

  /** Starts all threads, so that the first calls do not wait for them. */
  start(): void {
    while (this.#ended === null && this.#threads.length < this.#options.threads) this.#start();
  }

  /** Calls without an answer. */
  get waiting(): number {
    return this.#threads.reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /**
   * Runs a job on the thread with the fewest calls. A LogError that the job throws rejects the call with its code.
   *
   * @throws LogError `log_unavailable` when the thread ends before it answers, or the pool is closed
   */
  async run<K extends keyof J & string>(job: K, input: InputOf<J[K]>): Promise<OutputOf<J[K]>> {
    if (this.#ended !== null) throw this.#ended;
    const local = this.#local[job] as AnyJob;
    if (this.#options.threads === 0) return (await local.run(input)) as OutputOf<J[K]>;
    const thread = this.#leastBusy();
    const id = this.#nextId;
    this.#nextId += 1;
    const output = await new Promise<unknown>((resolve, reject) => {
      send(thread.worker, local, { job, id, input });
      if (thread.waiting.length === 0) thread.worker.ref();
      thread.waiting.push({ id, resolve, reject });
    });
    return output as OutputOf<J[K]>;
  }

  /**
   * Runs a job without an answer, on the only thread of the pool, before every later call. If it throws there, the
   * thread ends. Does nothing once the pool is closed or its thread is lost for good.
   */
  tell<K extends keyof J & string>(job: K, input: InputOf<J[K]>): void {
    if (this.#ended !== null) return;
    const local = this.#local[job] as AnyJob;
    if (this.#options.threads === 0) local.run(input);
    else send(this.#leastBusy().worker, local, { job, input });
  }

  /** Rejects the calls without an answer and ends the threads. */
  async close(): Promise<void> {
    this.#ended ??= unavailable(`the ${this.#options.name} pool is closed`);
    const threads = this.#threads;
    for (const thread of threads) this.#lose(thread, this.#ended);
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }

  /** A thread without calls, else a new one while there may be more, else the one with the fewest calls. */
  #leastBusy(): Thread {
    const [first, ...others] = this.#threads;
    let least = first;
    for (const other of others) {
      if (least !== undefined && other.waiting.length < least.waiting.length) least = other;
    }
    if (least === undefined) return this.#start();
    const full = least.waiting.length > 0 && this.#threads.length < this.#options.threads;
    return full ? this.#start() : least;
  }

  #start(): Thread {
    const { name, prepare } = this.#options;
    const worker = startThread(this.#module.url);
    const thread: Thread = { worker, waiting: [] };
    worker.unref();
    worker.on('message', (answer: Answer) => {
      settle(thread, answer);
    });
    worker.on('error', (cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      this.#lose(thread, unavailable(`the ${name} thread failed: ${reason}`, cause));
    });
    worker.on('exit', () => {
      this.#lose(thread, unavailable(`the ${name} thread ended`));
    });
    this.#threads = [...this.#threads, thread];
    prepare?.((job, input) => {
      send(worker, this.#local[job] as AnyJob, { job, input });
    });
    return thread;
  }

  #lose(thread: Thread, error: LogError): void {
    if (!this.#threads.includes(thread)) return;
    this.#threads = this.#threads.filter((other) => other !== thread);
    if (this.#options.replace === false) this.#ended ??= error;
    const lost = thread.waiting;
    thread.waiting = [];
    for (const { reject } of lost) reject(error);
  }
}

/** A job whose types were checked where it was called. */
type AnyJob = Job<unknown, unknown>;

function send(worker: Worker, job: AnyJob, call: Call): void {
  worker.postMessage(call, job.takes?.(call.input) ?? []);
}

function settle(thread: Thread, answer: Answer): void {
  // Usually the first call; asynchronous jobs may finish in another order. There is none if the thread was closed.
  const at = thread.waiting.findIndex(({ id }) => id === answer.id);
  const [waiting] = at < 0 ? [] : thread.waiting.splice(at, 1);
  if (thread.waiting.length === 0) thread.worker.unref();
  if ('output' in answer) waiting?.resolve(answer.output);
  else if (answer.code === null) waiting?.reject(new Error(answer.message));
  else waiting?.reject(new LogError(answer.code, answer.message));
}

const unavailable = (message: string, cause?: unknown): LogError =>
  new LogError('log_unavailable', message, { cause });

// The thread.

/** Distinguishes a thread of a pool from threads that a user of this package starts. */
interface ThreadData {
  readonly actlog_jobs: string;
}

function startThread(jobs: string): Worker {
  const entry = new URL(import.meta.url);
  const data: ThreadData = { actlog_jobs: jobs };
  return entry.pathname.endsWith('.ts')
    ? new Worker(fromSource(entry), { execArgv: [], workerData: data })
    : new Worker(entry, { workerData: data });
}

/** Node 20 does not pass the loader of `--import tsx` on to threads, so a thread from source registers it. */
function fromSource(entry: URL): URL {
  const code = [
    `import { register } from 'node:module';`,
    `register('tsx/esm', { parentURL: ${JSON.stringify(entry.href)}, data: {} });`,
    `await import(${JSON.stringify(entry.href)});`,
  ];
  return new URL(`data:text/javascript,${encodeURIComponent(code.join('\n'))}`);
}

/** Answers the calls of a pool. A module that cannot be imported, or a failed `tell`, ends the thread. */
async function serve(port: NonNullable<typeof parentPort>, url: string): Promise<void> {
  const { threadJobs } = (await import(url)) as { threadJobs: ThreadJobs<Jobs> };
  const jobs = threadJobs.make();
  port.on('message', ({ job, id, input }: Call) => {
    const called = jobs[job] as AnyJob;
    if (id === undefined) called.run(input);
    else void answer(port, called, id, input);
  });
}

async function answer(
  port: NonNullable<typeof parentPort>,
  job: AnyJob,
  id: number,
  input: unknown,
): Promise<void> {
  try {
    // A synchronous result is not awaited, because that would delay its answer behind later calls.
    const made = job.run(input);
    const output: unknown = made instanceof Promise ? await made : made;
    port.postMessage({ id, output } satisfies Answer, job.gives?.(output) ?? []);
  } catch (error) {
    const code = isLogError(error) ? error.code : null;
    const message = error instanceof Error ? error.message : String(error);
    port.postMessage({ id, code, message } satisfies Answer);
  }
}

const started = workerData as Partial<ThreadData> | null;
if (!isMainThread && parentPort !== null && typeof started?.actlog_jobs === 'string') {
  void serve(parentPort, started.actlog_jobs);
}
