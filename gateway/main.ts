// `actlog serve`: configuration, logger, start, and a graceful stop on SIGINT and SIGTERM.

import { pino } from 'pino';
import type { Logger } from 'pino';
import { readConfig } from './config.ts';
import { pluginIn } from './host/external-plugins.ts';
import type { Config } from './config.ts';
import { startServer } from './server.ts';
import type { RunningServer } from './server.ts';

/** Members that are removed from log lines. No log call passes them; this guards against mistakes. */
const SECRET = ['key', 'authorization', 'body', 'message', 'headers', 'passphrase', 'tenant_key'];

/** The gateway's logger: JSON lines, written in blocks so that a request does not wait for a disk. */
export function openLogger(
  config: Pick<Config, 'LOG_LEVEL'>,
  destination?: pino.DestinationStream,
): Logger {
  return pino(
    {
      level: config.LOG_LEVEL,
      base: null,
      // pino's own redaction copies every line's object: most of what a request costs to log.
      formatters: { log: withoutSecrets },
      // Errors may carry what a client sent; their text and place are enough.
      serializers: { err: plainError },
    },
    destination ?? pino.destination({ dest: 1, sync: false, minLength: 8192 }),
  );
}

/**
 * Reports promises that were rejected and that nothing waits for, and goes on: the mistake of one plugin does not end
 * the service. The appends of the log do not depend on this, because each of them has its own caller.
 */
export function reportRejections(logger: Logger): void {
  process.on('unhandledRejection', (err: unknown) => {
    const plugin = err instanceof Error ? pluginIn(err.stack ?? '') : null;
    logger.error({ err, plugin }, 'a promise was rejected, and no code handled it');
  });
}

/** Serves until a signal; a second signal ends the process at once. Throws when it cannot start. */
export async function serve(file?: string): Promise<RunningServer> {
  const sources = readConfig(process.env, file);
  const logger = openLogger(sources.config);
  // If the reader of these lines closes the pipe (`actlog serve | head`), the service continues.
  process.stdout.on('error', (err: Error) => logger.warn({ err }, 'standard output is closed'));
  reportRejections(logger);
  const server = await startServer(sources, { logger });
  const { base_url } = server.gateway;
  for (const { kind, key } of server.first_keys) {
    process.stdout.write(`${kind} key: ${key}\n`);
  }
  // Witnesses and policy files need this before a kit exists.
  for (const log of Object.values(server.gateway.logs)) {
    const place = `${base_url}/log/${log.kind}/${String(log.number)}`;
    process.stdout.write(`log ${log.vkey} ${place}\n`);
  }
  const { HOST } = sources.config;
  process.stdout.write(`actlog serves ${base_url} on ${HOST} port ${String(server.port)}\n`);
  const [first] = server.first_keys;
  if (first !== undefined) process.stdout.write(firstSteps(base_url, first.key));
  const flush = setInterval(() => logger.flush(), 1000);
  flush.unref();
  const stop = (signal: NodeJS.Signals): void => {
    process.once(signal, () => process.exit(1));
    logger.info({ signal }, 'stopping');
    server.close().then(
      () => end(logger, 0),
      (err: unknown) => {
        logger.fatal({ err }, 'the stop failed');
        end(logger, 1);
      },
    );
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  return server;
}

function withoutSecrets(line: Record<string, unknown>): Record<string, unknown> {
  const found = SECRET.filter((name) => name in line);
  if (found.length === 0) return line;
  return { ...line, ...Object.fromEntries(found.map((name) => [name, '[redacted]'])) };
}

/** The keys are shown only here. The example can be run as printed. */
const firstSteps = (base_url: string, key: string): string =>
  `the keys above are not shown again. Try:\n` +
  `curl -s ${base_url}/api/v1/classify -H 'X-API-Key: ${key}' -H 'Content-Type: application/json' ` +
  `-d '{"message": "Schedule the interview for Monday"}'\n`;

function plainError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack } = error;
  const { code } = error as NodeJS.ErrnoException;
  return { name, ...(code === undefined ? {} : { code }), message, stack };
}

function end(logger: Logger, code: number): void {
  logger.flush(() => process.exit(code));
}
