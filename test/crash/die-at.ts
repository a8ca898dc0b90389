// Loaded into a server before its own code: ends the process with SIGKILL right before the DIE_NTH operation on files
// whose paths match DIE_AT. Counts from the start where DIE_FROM is `start`, otherwise from a SIGUSR2 on. Operations of
// LevelDB are not seen here.

import { promises } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { DIE_AT = '', DIE_NTH = '1', DIE_FROM = '' } = process.env;
const place = new RegExp(DIE_AT);
let left = Number(DIE_NTH);
let armed = DIE_FROM === 'start';

process.on('SIGUSR2', () => {
  armed = true;
});

/** Comes before each operation. */
function step(path: string): void {
  if (!armed || !place.test(path)) return;
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
}

type Act = (...args: unknown[]) => Promise<unknown>;

/** Replaces methods of an object; `pathOf` says which file a call is about. */
function count(
  target: object,
  names: readonly string[],
  pathOf: (args: unknown[]) => string,
): void {
  const methods = target as Record<string, Act>;
  for (const name of names) {
    const act = methods[name]!.bind(target);
    methods[name] = (...args) => {
      step(pathOf(args));
      return act(...args);
    };
  }
}

count(promises, ['rename', 'link', 'unlink', 'mkdir', 'writeFile', 'rm'], ([path]) => String(path));
const open = promises.open.bind(promises);
promises.open = async (path, flags, mode) => {
  if (typeof flags === 'string' && flags !== 'r') step(String(path));
  const file = await open(path, flags, mode);
  count(file, ['sync', 'writeFile', 'chmod', 'utimes'], () => String(path));
  return file;
};
syncBuiltinESMExports();
