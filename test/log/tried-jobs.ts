// Jobs for worker.test.ts.

import { LogError } from '../../log/errors.ts';

export const threadJobs = {
  url: import.meta.url,
  make: () => {
    let told = 0;
    return {
      tell: {
        run: (value: number) => {
          told += value;
        },
      },
      told: { run: (_: null) => told },
      reverse: {
        run: (bytes: Uint8Array<ArrayBuffer>) => bytes.reverse(),
        takes: (bytes: Uint8Array<ArrayBuffer>) => [bytes.buffer],
        gives: (bytes: Uint8Array<ArrayBuffer>) => [bytes.buffer],
      },
      later: { run: async (value: string) => new Promise((r) => setTimeout(r, 50, value)) },
      refuse: {
        run: (message: string) => {
          throw new LogError('out_of_range', message);
        },
      },
      fail: {
        run: (message: string) => {
          throw new Error(message);
        },
      },
      never: { run: async (_: null) => new Promise<never>(() => undefined) },
      exit: {
        run: (_: null) => {
          process.exit(3);
        },
      },
      throwLater: {
        run: async (message: string) => {
          setImmediate(() => {
            throw new Error(message);
          });
          return new Promise<never>(() => undefined);
        },
      },
    };
  },
};
