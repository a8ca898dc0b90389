// Preloaded into a server: kills the process with SIGKILL before the DIE_NTH file operation on a path that matches
// DIE_AT. Counts from the start if DIE_FROM is `start`, otherwise from a SIGUSR2 on. Does not see the operations of
// LevelDB.

import { promises } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { DIE_AT = '', DIE_NTH = '1', DIE_FROM = '' } = process.env;
const place = new RegExp(DIE_AT);
let left = Number(DIE_NTH);
let armed = DIE_FROM === 'start';

process.on('SIGUSR2', () => {
  armed = true;
});

/** Runs before each operation. */
function step(path: string): void {
  if (!armed || !place.test(path)) return;
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
}

type Act = (...args: unknown[]) => Promise<unknown>;

/** Wraps methods of an object; `pathOf` returns the path that a call is about. */
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
