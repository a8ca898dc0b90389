// What this service says of its own conformance: the newest run that its operator has logged, and the badge only
// where that run passed and is not too old. A run is the operator's word, signed and dated in the log; whoever
// wants their own runs `actlog conformance`. gateway/API.md §8.2.

import { Type } from 'typebox';
import { ApiError, LOG_KINDS, Millis, receiptOf, route } from '../contract/index.ts';
import type { JsonObject, LogView, PluginHost, Route } from '../contract/index.ts';
import { BADGE, badgeSvg } from './badge.ts';
import { CHECKS, NEWEST_RUN, RUN, RunMembers, runType } from './entries.ts';
import type { Run } from './entries.ts';

const PATH = '/api/v1/require-receipt/conformance';
const BADGE_PATH = '/api/v1/require-receipt/badge.svg';
/** A run says little about a service that was changed since. */
const VALID_MS = 30 * 86_400_000;
const CACHE = 'public, max-age=60';

const Absent = Type.Null();
const Shown = Type.Object(
  {
    conformant: Type.Boolean({ description: 'The newest run passed, at most 30 days ago.' }),
    badge: Type.Union([Type.Literal(BADGE), Absent]),
    badge_url: Type.Union([Type.String({ format: 'uri' }), Absent]),
    checked_at_ms: Type.Union([Millis, Absent]),
    valid_until_ms: Type.Union([Millis, Absent]),
    checks: Type.Union([RunMembers.properties.checks, Absent]),
    basis: Type.String(),
    receipt: Type.Union([receiptOf(runType), Absent]),
  },
  { $id: 'RequireReceiptConformance' },
);

const BASIS =
  'Five checks that the operator ran against this service and logged; anyone can run them with `actlog conformance`.';

/** The routes of conformance. */
export function conformanceRoutes(host: PluginHost): readonly Route[] {
  const Query = Type.Object({ log: Type.Optional(Type.Enum(LOG_KINDS)) });
  return [
    route({
      method: 'GET',
      path: PATH,
      tag: 'require-receipt',
      summary: 'The newest conformance run of this service',
      access: 'read',
      query: Query,
      responses: { 200: { description: 'Nulls where there is none.', schema: Shown } },
      handle(ctx) {
        ctx.set('Cache-Control', CACHE);
        ctx.body = shown(host, host.log(ctx.state.query.log ?? 'live'));
      },
    }),
    route({
      method: 'GET',
      path: BADGE_PATH,
      tag: 'require-receipt',
      summary: 'The badge, where the newest conformance run passed',
      access: 'read',
      query: Query,
      responses: { 200: { description: 'The badge.', type: 'image/svg+xml' } },
      errors: ['resource_missing'],
      handle(ctx) {
        const run = validRun(host, host.log(ctx.state.query.log ?? 'live'));
        if (run === null) {
          throw new ApiError('resource_missing', 'no conformance run of the last 30 days passed');
        }
        ctx.set('Cache-Control', CACHE);
        ctx.type = 'image/svg+xml';
        ctx.body = badgeSvg(run.checked_at_ms);
      },
    }),
    route({
      method: 'POST',
      path: PATH,
      tag: 'require-receipt',
      summary: 'Log a conformance run of this service',
      description:
        '`actlog conformance URL --publish` sends it. Passed or not, the newest one is what is shown.',
      access: { roles: ['service'] },
      idempotent: true,
      body: Type.Object(
        { checks: RunMembers.properties.checks },
        { $id: 'RequireReceiptConformanceRun' },
      ),
      responses: {
        200: {
          description: 'The run is logged.',
          schema: Type.Object(
            { ok: Type.Literal(true), conformant: Type.Boolean(), receipt: receiptOf(runType) },
            { $id: 'RequireReceiptConformanceLogged' },
          ),
        },
      },
      example: { checks: Object.fromEntries(CHECKS.map((check) => [check, 'not_run'])) },
      async handle(ctx) {
        const { checks } = ctx.state.body;
        const conformant = CHECKS.every((check) => checks[check] === 'passed');
        const members = { checks, conformant, checked_at_ms: host.now() };
        await ctx.state.append([{ type: RUN, members }]);
      },
      respond([entry]) {
        if (entry === undefined) throw new Error('a run has one entry');
        return { ok: true, conformant: entry.statement['conformant'], receipt: entry.receipt };
      },
    }),
  ];
}

function newestRun(log: LogView): Run | undefined {
  return log.row(NEWEST_RUN) as unknown as Run | undefined;
}

function validRun(host: PluginHost, log: LogView): Run | null {
  const run = newestRun(log);
  if (!run?.conformant) return null;
  return host.now() - run.checked_at_ms > VALID_MS ? null : run;
}

function shown(host: PluginHost, log: LogView): object {
  const run = newestRun(log);
  const conformant = validRun(host, log) !== null;
  const sandbox = log.kind === 'sandbox' ? '?log=sandbox' : '';
  const receipt: JsonObject | null = run === undefined ? null : log.receipt(run.index);
  return {
    conformant,
    badge: conformant ? BADGE : null,
    badge_url: conformant ? host.url(BADGE_PATH + sandbox) : null,
    checked_at_ms: run?.checked_at_ms ?? null,
    valid_until_ms: run === undefined ? null : run.checked_at_ms + VALID_MS,
    checks: run?.checks ?? null,
    basis: BASIS,
    receipt,
  };
}
