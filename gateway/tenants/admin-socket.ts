// The socket through which the command line reaches a running gateway. LevelDB allows one process, so a data folder that
// a server has open can be changed only through the server. The socket is in the data folder; only its owner can open
// it. The request and the answer are one line of JSON each.

import { hash } from 'node:crypto';
import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isJsonObject, isLogError, parseJson } from '../../log/index.ts';
import type { Json } from '../../plugins/contract/index.ts';
import type { AdminArgs, AdminVerbs } from './admin.ts';
import { AdminError, isAdminError } from './tenants.ts';

/** Operating systems limit socket paths: 108 bytes on Linux and 104 on macOS, with the final zero. */
const MAX_PATH_BYTES = 100;
const MAX_LINE_CHARS = 65_536;

/** The path of the socket of a data folder. If it is too long, it is in a private folder of the user instead. */
export function socketPath(data: string): string {
  const own = join(resolve(data), 'admin.sock');
  if (Buffer.byteLength(own) <= MAX_PATH_BYTES) return own;
  const name = hash('sha256', resolve(data), 'hex').slice(0, 24);
  return join(tmpdir(), `actlog-${String(userInfo().uid)}`, `${name}.sock`);
}

/** Serves the verbs. The caller holds the data folder, so an existing socket file is a leftover. */
export async function serveAdmin(
  data: string,
  verbs: AdminVerbs,
): Promise<{ close(): Promise<void> }> {
  const path = socketPath(data);
  // The mode 0700 of the folder protects the socket until it has its own mode.
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await checkShared(data, path);
  await chmod(dirname(path), 0o700);
  await rm(path, { force: true });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    readLine(socket).then(
      async (line) => socket.end(`${JSON.stringify(await answer(verbs, line))}\n`),
      () => socket.destroy(),
    );
  });
  await new Promise<void>((done, reject) => {
    server.once('error', reject);
    server.listen(path, done);
  });
  await chmod(path, 0o600);
  return {
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of open) socket.destroy();
      }),
  };
}

/** Asks the server that holds the data folder; null if none runs. Throws `AdminError` with the server's message. */
export async function askServer(
  data: string,
  verb: string,
  args: AdminArgs,
): Promise<{ result: Json } | null> {
  const path = socketPath(data);
  await checkShared(data, path);
  const socket = createConnection(path);
  const connected = await new Promise<boolean>((done, reject) => {
    socket.once('connect', () => done(true));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') done(false);
      else reject(error);
    });
  });
  if (!connected) return null;
  socket.write(`${JSON.stringify({ verb, args })}\n`);
  const answer = JSON.parse(await readLine(socket, Infinity)) as { result?: Json; error?: string };
  socket.destroy();
  if (answer.error !== undefined) throw new AdminError(answer.error);
  return { result: answer.result ?? null };
}

/**
 * Any user can make a folder in the folder for temporary files. Its owner could put a socket into it and read or answer
 * the requests of the command line.
 */
async function checkShared(data: string, path: string): Promise<void> {
  const folder = dirname(path);
  if (folder === resolve(data)) return;
  const found = await lstat(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  if (found === null || (found.isDirectory() && found.uid === userInfo().uid)) return;
  throw new AdminError(`${folder} is not a folder of this user: remove it, or shorten DATA_DIR`);
}

/** Performs one of the verbs. Throws `AdminError` if there is none of that name. */
export async function performVerb(
  verbs: AdminVerbs,
  verb: Json | undefined,
  args: AdminArgs,
): Promise<unknown> {
  const known = typeof verb === 'string' && Object.hasOwn(verbs, verb);
  const perform = known ? verbs[verb] : undefined;
  if (perform === undefined) throw new AdminError(`there is no verb ${JSON.stringify(verb)}`);
  return perform(args);
}

/** Answers one request. An expected error is returned as a message; any other exception is a defect. */
async function answer(
  verbs: AdminVerbs,
  line: string,
): Promise<{ result: unknown } | { error: string }> {
  try {
    const request = parseJson(line);
    if (!isJsonObject(request)) throw new AdminError('a request is an object');
    const { verb, args } = request;
    return { result: await performVerb(verbs, verb, (args ?? {}) as AdminArgs) };
  } catch (error) {
    if (isAdminError(error) || isLogError(error)) return { error: error.message };
    return { error: `the server failed: ${error instanceof Error ? error.message : 'unknown'}` };
  }
}

function readLine(socket: Socket, max_chars = MAX_LINE_CHARS): Promise<string> {
  return new Promise((done, reject) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end >= 0) done(text.slice(0, end));
      else if (text.length > max_chars) reject(new Error('line is too long'));
    });
    socket.on('close', () => reject(new Error('the connection ended early')));
  });
}
