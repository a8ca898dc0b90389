// GET /carrier/v1/insured/{slug}/compliance and POST /pas/v1/bind-check: one check in two shapes.
// gateway/API.md §8.3, §14.

import { Type } from 'typebox';
import {
  ApiError,
  decimalOf,
  decimalPattern,
  MICRO,
  route,
  SLUG,
  slugOf,
} from '../contract/index.ts';
import type { Json, PluginHost, Route } from '../contract/index.ts';
import { CheckAnswer, checkAnswer } from './audit.ts';
import { actionOf, decisionDraft, failingClosed } from './deciding.ts';
import type { Authority } from './rules.ts';

/** Amounts in USD that a request may name; they are compared in micro-USD. */
const USD = { whole: 15, fraction: MICRO };

/** An amount of a request: text, or a JSON number by its shortest decimal form. */
const AmountInput = Type.Union(
  [Type.String({ pattern: decimalPattern(USD) }), Type.Number({ minimum: 0 })],
  { description: 'USD: at most 15 digits before the point, 6 behind. A commitment in the log.' },
);

/** An amount in micro-USD; 400 `parameter_invalid` for what the grammar does not have. */
const microUsd = (input: string | number, param: string): bigint => decimalOf(input, param, USD);

const Action = Type.Enum(['bind', 'renewal', 'renew'], {
  description: '`renew` is `renewal`; `bind` unless given.',
});

const DESCRIPTION =
  'Rules in their order, the first that fails decides: a mandate under the slug, not expired, no CRISIS or VIOLATION ' +
  'of the insured in 30 days, the limit within the authority, a fresh receipt. Each answer is a decision, signed and ' +
  'logged, an unknown slug and a GET too. What cannot be checked is BLOCK.';

const responses = { 200: { description: 'ALLOW or BLOCK, with its audit.', schema: CheckAnswer } };

/** The routes that check. */
export const checkRoutes = (host: PluginHost): readonly Route[] => [
  complianceRoute(host),
  bindCheckRoute(host),
];

function complianceRoute(host: PluginHost): Route {
  return route({
    method: 'GET',
    path: '/carrier/v1/insured/{slug}/compliance',
    tag: 'carrier',
    summary: 'Whether an insured may be bound or renewed',
    description: DESCRIPTION,
    access: { roles: ['carrier', 'insured'] },
    appends: true,
    budget: 'write',
    params: Type.Object({
      slug: Type.String({ minLength: 1, maxLength: host.limits.string_chars }),
    }),
    query: Type.Object({ action: Type.Optional(Action) }),
    responses,
    errors: ['role_forbidden', 'log_unavailable', 'log_busy'],
    async handle(ctx) {
      const { params, query, caller } = ctx.state;
      const check = async (): Promise<void> => {
        const { slug } = params;
        const action = actionOf(query.action);
        const asked = { asked_by: 'compliance', slug, action, authority: 'within' } as const;
        await ctx.state.append([await decisionDraft(host, caller, { ...asked, hidden: {} })]);
      };
      ctx.set('Cache-Control', 'no-store');
      await failingClosed(check());
    },
    respond: (entries, _disclosures, { params, caller }) =>
      checkAnswer(host, caller.kind, params.slug, entries),
  });
}

interface Named {
  readonly slug?: string;
  readonly company?: string;
}

function bindCheckRoute(host: PluginHost): Route {
  const { limits } = host;
  const Text = Type.String({ minLength: 1, maxLength: limits.string_chars });
  return route({
    method: 'POST',
    path: '/pas/v1/bind-check',
    tag: 'carrier',
    summary: 'Bind check of a policy administration system',
    description: `${DESCRIPTION} Policy, agent, premium, limit and authority are commitments in the log.`,
    access: { roles: ['carrier'] },
    idempotent: true,
    body: Type.Object(
      {
        slug: Type.Optional({ ...Text, description: 'Of the enrollment; or `company`.' }),
        company: Type.Optional(Text),
        policy_id: Text,
        action: Type.Optional(Action),
        premium_usd: Type.Optional(AmountInput),
        limit_usd: Type.Optional(AmountInput),
        agent_id: Type.Optional(Text),
        authority: Type.Optional(
          Type.Object(
            { limit_usd: AmountInput },
            { description: 'What the agent may bind at most. Without it a limit is BLOCK.' },
          ),
        ),
        receipt_entry_id: Type.Optional({
          ...Text,
          description:
            'Entry id or entry hash of a classification or decision of the insured; its newest one unless given.',
        }),
        session_id: Type.Optional(Text),
      },
      { $id: 'BindCheckRequest' },
    ),
    responses,
    errors: ['role_forbidden'],
    example: { slug: 'example', policy_id: 'POL-2026-001', action: 'bind', premium_usd: '1250.00' },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const slug = slugIn(body);
      const { session_id, receipt_entry_id, action, ...rest } = body;
      const { policy_id, premium_usd, limit_usd, agent_id, authority } = rest;
      if (premium_usd !== undefined) microUsd(premium_usd, 'premium_usd');
      const limit = limit_usd === undefined ? null : microUsd(limit_usd, 'limit_usd');
      const most =
        authority === undefined ? null : microUsd(authority.limit_usd, 'authority.limit_usd');
      const hidden: Record<string, Json> = { policy_id };
      if (premium_usd !== undefined) hidden['premium_usd'] = premium_usd;
      if (limit_usd !== undefined) hidden['limit_usd'] = limit_usd;
      if (agent_id !== undefined) hidden['agent_id'] = agent_id;
      if (authority !== undefined) hidden['authority'] = { limit_usd: authority.limit_usd };
      const question = {
        asked_by: 'bind_check',
        slug,
        action: actionOf(action),
        authority: authorityFor(limit, most),
        ...(receipt_entry_id === undefined ? {} : { receipt_entry_id }),
        ...(session_id === undefined ? {} : { session_id }),
        hidden,
      } as const;
      const check = async (): Promise<void> =>
        ctx.state.append([await decisionDraft(host, caller, question)]);
      await failingClosed(check());
    },
    respond: (entries, _disclosures, { body, caller }) =>
      checkAnswer(host, caller.kind, slugIn(body), entries),
  });
}

/** Whether a limit that is asked for lies within the authority that is named. */
function authorityFor(limit: bigint | null, most: bigint | null): Authority {
  if (limit === null) return 'within';
  if (most === null) return 'none';
  return limit > most ? 'over' : 'within';
}

/** The slug that a request names, as such or by the company; both must agree. */
function slugIn({ slug, company }: Named): string {
  if (company === undefined) {
    if (slug !== undefined) return slug;
    throw new ApiError('parameter_missing', 'slug or company is missing', { param: 'slug' });
  }
  const named = slugOf(company, 'company');
  if (slug === undefined || slug === named) return named;
  const rule = new RegExp(SLUG).test(slug) ? `that of company is ${named}` : 'it is no slug';
  throw new ApiError('parameter_invalid', `slug and company differ: ${rule}`, { param: 'slug' });
}
