// The HTTP interface as the code has it, for what is generated from it: the tables of the documents (readme.ts) and the
// types of the client (client-types.ts).

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig } from '../gateway/config.ts';
import { openApi } from '../gateway/openapi/document.ts';
import { openGateway } from '../gateway/open.ts';
import { systemTime } from '../log/index.ts';
import type { JsonObject } from '../log/index.ts';
import type { Route } from '../plugins/contract/index.ts';

/** Tags whose routes are no part of the interface: pages, their files, and what the demonstrations call. */
export const LEFT_OUT: readonly string[] = ['Pages', 'Demonstrations'];

/** The routes of a gateway on an empty data folder, and their OpenAPI document. */
export async function interfaceOf(): Promise<{ routes: readonly Route[]; document: JsonObject }> {
  const folder = await mkdtemp(join(tmpdir(), 'actlog-interface-'));
  try {
    const sources = readConfig({
      DATA_DIR: folder,
      CHECKPOINT_DIR: join(folder, 'checkpoints'),
      THREADS: 'off',
      LOG_ORIGIN: 'log.example',
      BASE_URL: 'https://log.example',
    });
    const opened = await openGateway(sources, {
      logger: pino({ level: 'silent' }),
      time: systemTime,
      plugins: [],
    });
    try {
      const { base_url, types } = opened.gateway;
      const routes = opened.gateway.routes();
      return { routes, document: openApi({ base_url, routes, types }) };
    } finally {
      await opened.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}
