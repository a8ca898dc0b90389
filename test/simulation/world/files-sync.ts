// What the product gets in place of node:fs: reads at once, as a start does with the snapshot of the map. A URL names a
// file of the program, such as a catalog or a view: those are the real ones.

import * as real from 'node:fs';
import { theFiles } from './files.ts';

export { constants } from 'node:fs';

interface Open {
  readonly data: Buffer;
  at: number;
}

const opened = new Map<number, Open>();
let next = 3;

export const existsSync = (path: string | URL): boolean =>
  path instanceof URL ? real.existsSync(path) : theFiles().has(path);

export const readdirSync = (path: string | URL): string[] =>
  path instanceof URL ? real.readdirSync(path) : theFiles().list(path);

export function readFileSync(path: string | URL, encoding?: 'utf8'): string | Buffer {
  const data = path instanceof URL ? ofProgram(path) : Buffer.from(theFiles().file(path).data);
  return encoding === undefined ? data : data.toString(encoding);
}

export const statSync = (path: string): never => {
  throw new Error(`the simulation has no statSync of ${path}`);
};

const program = new Map<string, Buffer>();

function ofProgram(url: URL): Buffer {
  let data = program.get(url.href);
  if (data === undefined) program.set(url.href, (data = real.readFileSync(url)));
  return data;
}

export function openSync(path: string): number {
  opened.set(next, { data: theFiles().file(path).data, at: 0 });
  next += 1;
  return next - 1;
}

const own = (file: number): Open => {
  const open = opened.get(file);
  if (open === undefined) throw new Error('the file is not open');
  return open;
};

export function readSync(file: number, bytes: Uint8Array, from: number, length: number): number {
  const open = own(file);
  const slice = open.data.subarray(open.at, open.at + length);
  bytes.set(slice, from);
  open.at += slice.length;
  return slice.length;
}

export const fstatSync = (file: number): { size: number } => ({ size: own(file).data.length });

export function closeSync(file: number): void {
  opened.delete(file);
}
