// A progress bar on a terminal, nothing elsewhere.

import { Presets, SingleBar } from 'cli-progress';

/** A progress bar. */
export interface Progress {
  /** How far it is. */
  readonly at: (done: number, total: number) => void;
  readonly end: () => void;
}

/** Opens a bar on standard error; a pipe or a log file gets none. */
export function progress(title: string, wanted = true): Progress {
  if (!wanted || !process.stderr.isTTY) return { at: () => undefined, end: () => undefined };
  const bar = new SingleBar(
    {
      format: `${title} {bar} {percentage}% | {value} of {total} entries | {eta_formatted} to go`,
      stream: process.stderr,
      clearOnComplete: true,
      hideCursor: true,
    },
    Presets.shades_classic,
  );
  let started = false;
  return {
    at(done, total) {
      if (!started) bar.start(total, done);
      else {
        bar.setTotal(total);
        bar.update(done);
      }
      started = true;
    },
    end() {
      if (started) bar.stop();
    },
  };
}
