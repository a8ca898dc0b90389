// Opens the mirror that an operator names: an address, or a folder with the files of C2SP tlog-tiles. The place may be
// that of a service, of its /log, or of one log below it.

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mirror } from '../../log/operate.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { isMirrorTrouble, MAX_NOTE_BYTES, MirrorTrouble, TiledMirror } from './tiled.ts';

/** A folder that somebody copied a log into. */
export class FolderMirror extends TiledMirror {
  readonly name: string;

  constructor(folder: string) {
    super();
    this.name = folder;
  }

  async checkpoint(): Promise<string> {
    const note = await this.read('checkpoint', MAX_NOTE_BYTES);
    if (note === null) throw new MirrorTrouble(this.missing('checkpoint'));
    return Buffer.from(note).toString('utf8');
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  protected missing(path: string): string {
    return `${this.name} has no file ${path}`;
  }

  protected async read(path: string, limit: number): Promise<Uint8Array | null> {
    const file = join(this.name, path);
    try {
      const { size } = await stat(file);
      if (size > limit) throw new MirrorTrouble(`${file} is over ${String(limit)} bytes`);
      return await readFile(file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // `001.p` is a folder where partial tiles are kept.
      if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return null;
      throw error;
    }
  }
}

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
      if (!isMirrorTrouble(error)) throw error;
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
  return new FolderMirror(place);
}
