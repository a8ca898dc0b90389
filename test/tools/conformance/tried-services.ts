// The services that the tests of RR-1 run against, the log that issues their permits, and the expected results.

import type { IncomingHttpHeaders } from 'node:http';
import express from 'express';
import { readHeader } from '../../../plugins/require-receipt/header.ts';
import type { Presented } from '../../../plugins/require-receipt/header.ts';
import type { GuardOptions } from '../../../plugins/require-receipt/middleware.ts';
import type { Conformance } from '../../../tools/conformance/run.ts';
import { GateLog } from '../../plugins/require-receipt/permits.ts';
import { expressService } from '../../plugins/require-receipt/services.ts';
import { TENANT } from '../../support/forge.ts';
import { listening } from '../../support/listening.ts';
import type { Listening } from '../../support/listening.ts';

export const log = new GateLog();
export const AUDIENCE = 'https://shop.example';
/** A guard that trusts this log, with its clock. */
export const options: GuardOptions = {
  log: log.vkey,
  jwks: log.jwks(),
  tenants: [TENANT],
  audience: AUDIENCE,
  service: { name: 'Refunds' },
  now: () => log.ms,
};

/** The names of the checks by outcome. */
export const outcomes = ({ checks }: Conformance): Record<string, string> =>
  Object.fromEntries(checks.map(({ name, outcome }) => [name, outcome]));

/** All five checks pass. */
export const ALL = {
  manifest_valid: 'passed',
  challenge_on_missing: 'passed',
  runs_on_valid: 'passed',
  replay_refused: 'passed',
  forged_refused: 'passed',
};

/** A service that follows RR-1 except for how it treats receipts, which a test determines. */
export async function careless(
  take: (presented: Presented) => boolean,
  challenge: {
    readonly status?: number;
    readonly header?: string | null;
    readonly body?: object;
  } = {},
  asked: IncomingHttpHeaders[] = [],
): Promise<Listening> {
  const real = await expressService(options);
  const manifest: unknown = await (
    await fetch(`${real.url}/.well-known/agent-actions.json`)
  ).json();
  await real.close();
  const app = express();
  app.use((req, _res, next) => {
    asked.push(req.headers);
    next();
  });
  app.get('/.well-known/agent-actions.json', (_req, res) => void res.json(manifest));
  app.post('/refunds', express.json(), (req, res) => {
    const presented = readHeader(req.get('X-Receipt') ?? '');
    if (presented !== null && take(presented)) {
      res.json({ ok: true });
      return;
    }
    const { status = 428, header, body = { required: {} } } = challenge;
    const wanted = `action="payment.refund", action_hash="sha256:${'0'.repeat(64)}", proof="X-Receipt"`;
    if (header !== null) res.set('Receipt-Required', header ?? wanted);
    res.set('Cache-Control', 'no-store').status(status).json(body);
  });
  return listening(app);
}
