// Opens a mirror of one log by what a person calls it: an address or a folder, of the log itself or of a service or
// an export that has it under log/<kind>/<number>. The first line of a checkpoint says of which log it is.

import type { Mirror } from '../../log/operate.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { MirrorTrouble } from './limits.ts';

/** A mirror to be closed after use. */
export type OpenMirror = Mirror & { close(): Promise<void> };

/** The log that is looked for. */
export interface Wanted {
  readonly origin: string;
  readonly kind: string;
  readonly number: number;
}

/**
 * The mirror that has the log, at the place itself or below it. Nothing of it is believed yet.
 *
 * @throws CommandError: exit 2 where no place has the log, 1 where one did not answer; names every place
 */
export async function openMirror(name: string, wanted: Wanted): Promise<OpenMirror> {
  if (/^https?:/.test(name) && !URL.canParse(name)) {
    throw new CommandError(`${name} is no http or https address`, EXIT.unknown);
  }
  const seen: string[] = [];
  let exit: number = EXIT.unknown;
  for (const place of placesOf(name, wanted)) {
    const mirror = await mirrorAt(place);
    try {
      const [origin = ''] = (await mirror.checkpoint()).split('\n', 1);
      if (origin === wanted.origin) return mirror;
      seen.push(`${place} is of ${JSON.stringify(origin.slice(0, 100))}`);
    } catch (error) {
      if (!(error instanceof MirrorTrouble)) throw error;
      if (!/has no file|HTTP 404/.test(error.message)) exit = EXIT.failed;
      seen.push(error.message);
    }
    await mirror.close();
  }
  const hint =
    'give a service, an export folder, or the prefix of the log with checkpoint and tile/';
  throw new CommandError(`${name} has no log ${wanted.origin}: ${seen.join('; ')}; ${hint}`, exit);
}

/** Where the log may be: at the name as it is, and in the folder that it has under a service or an export. */
function placesOf(name: string, { kind, number }: Wanted): readonly string[] {
  const bare = name.replace(/(?<=[^/])\/+$/, '');
  const [, root = bare] = /^(.*)\/log(?:\/(?:live|sandbox)(?:\/\d+)?)?$/.exec(bare) ?? [];
  const below = `${root.replace(/\/$/, '')}/log/${kind}/${String(number)}`;
  return bare === below ? [bare] : [bare, below];
}

async function mirrorAt(place: string): Promise<OpenMirror> {
  if (/^https?:\/\//.test(place)) {
    const { HttpMirror } = await import('./http.ts');
    return new HttpMirror(new URL(place));
  }
  const { FolderMirror } = await import('./folder.ts');
  return new FolderMirror(place);
}
