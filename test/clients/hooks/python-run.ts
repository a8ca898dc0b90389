// `npm run test:python-hooks`: installs the frameworks of the Python hooks into a separate folder and runs
// python.test.ts with them. `npm test` and `.ci/run` do not run it: the frameworks are 75 packages and 400 MB, and
// their installation takes half a minute of processor time.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PINNED = ['langchain-core==1.8.2', 'litellm==1.109.1'];
const root = fileURLToPath(new URL('../../..', import.meta.url));

function ran(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): number {
  const options = { cwd: root, env: { ...process.env, ...env }, stdio: 'inherit' } as const;
  return spawnSync(command, args, options).status ?? 1;
}

const folder = mkdtempSync(join(tmpdir(), 'actlog-hooks-python-'));
const python = join(folder, 'bin/python');
const install = ['-m', 'pip', 'install', '-q', '--disable-pip-version-check'];
const steps: readonly (() => number)[] = [
  () => ran('python3', ['-m', 'venv', folder]),
  () => ran(python, [...install, ...PINNED, '-e', './tools/clients/python[langchain,litellm]']),
  () => ran('npx', ['mocha', 'test/clients/hooks/python.test.ts'], { ACTLOG_HOOKS_PYTHON: python }),
];
try {
  process.exitCode = steps.reduce((status, step) => (status === 0 ? step() : status), 0);
} finally {
  rmSync(folder, { recursive: true });
}
