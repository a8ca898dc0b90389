// Opens a mirror by what a person calls it: an address or a folder.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Mirror } from '../../log/mirror.ts';
import { CommandError, EXIT } from '../command-line.ts';

/** A mirror to be closed after use. */
export type OpenMirror = Mirror & { close(): Promise<void> };

/** A folder must have a checkpoint in it. */
export async function openMirror(name: string): Promise<OpenMirror> {
  if (/^https?:\/\//.test(name)) {
    const { HttpMirror } = await import('./http.ts');
    return new HttpMirror(new URL(name));
  }
  if (!existsSync(join(name, 'checkpoint'))) {
    throw new CommandError(`${name} has no file checkpoint: it is no mirror`, EXIT.unknown);
  }
  const { FolderMirror } = await import('./folder.ts');
  return new FolderMirror(name);
}
