// How a thread of the core starts: from dist as it is, from source with the same loader as the process.

import { Worker } from 'node:worker_threads';

/**
 * Starts the module `name` (`./sign-thread`, without its extension) that stands beside the caller, whose
 * `import.meta.url` is `base`.
 */
export function startThread(base: string, name: string): Worker {
  return base.endsWith('.ts')
    ? new Worker(fromSource(new URL(`${name}.ts`, base)), { execArgv: [] })
    : new Worker(new URL(`${name}.js`, base));
}

/** tsx leaves threads alone when it comes by `--import` (Node 20), so the thread asks for it itself. */
function fromSource(module: URL): URL {
  const code = [
    `import { register } from 'node:module';`,
    `register('tsx/esm', { parentURL: ${JSON.stringify(module.href)}, data: {} });`,
    `await import(${JSON.stringify(module.href)});`,
  ];
  return new URL(`data:text/javascript,${encodeURIComponent(code.join('\n'))}`);
}
