// Runs existing suites in cluster mode: each gateway that they start is a leader and a follower on a real PostgreSQL, and
// their requests go to the follower (test/gateway/running.ts, test/e2e/process.ts).

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startPostgres } from '../support/postgres.ts';

/** The suites of the interface. */
const SUITES = [
  'test/gateway/http/**/*.test.ts',
  'test/gateway/routes/**/*.test.ts',
  'test/gateway/host/**/*.test.ts',
  'test/gateway/webhooks/**/*.test.ts',
  'test/gateway/tenants/**/*.test.ts',
  'test/gateway/*.test.ts',
  'test/plugins/**/*.test.ts',
  'test/scenario/**/*.test.ts',
  'test/e2e/**/*.test.ts',
];

/**
 * Runs mocha on files, or on all suites; returns its exit code, or null if PostgreSQL is not installed.
 *
 * @param output takes what mocha prints, instead of the standard output
 */
export async function runSuites(
  files: readonly string[],
  output?: (text: string) => void,
): Promise<number | null> {
  const say = output ?? ((text: string) => process.stdout.write(text));
  const postgres = await startPostgres();
  if (postgres === null) return null;
  try {
    const url = new URL(await postgres.database());
    url.pathname = '/postgres';
    const args = files.length === 0 ? SUITES : files;
    const child = spawn('node_modules/.bin/mocha', args, {
      env: { ...process.env, CLUSTER_SUITES: url.href },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.setEncoding('utf8').on('data', say);
    const [code] = (await once(child, 'close')) as [number | null];
    return code ?? 1;
  } finally {
    await postgres.remove();
  }
}
