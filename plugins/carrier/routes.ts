// GET /carrier/v1/insured/{slug}/compliance and POST /pas/v1/bind-check: two routes that make the same check.
// gateway/API.md §8.3, §14.

import { Type } from 'typebox';
import { ApiError, atLeastOne, route, SLUG, slugOf } from '../contract/index.ts';
import type { Json, PluginHost, Route } from '../contract/index.ts';
import { CheckAnswer, checkAnswer } from './audit.ts';
import { actionOf, decisionDraft, failingClosed } from './deciding.ts';
import { CARRIER_ACT } from './entries.ts';
import { AmountInput, microUsd } from './rules.ts';

const Action = Type.Enum(['bind', 'renewal', 'renew'], {
  description: '`renew` means `renewal`. The default is `bind`.',
});

const DESCRIPTION =
  'The rules apply in this order, and the first that fails decides: the slug has a mandate that has neither ended nor ' +
  'expired; the insured has no unresolved CRISIS or VIOLATION of the last 30 days; action and limit are within the ' +
  'mandate and the authority; there is a recent receipt. Each answer is a signed, logged decision, also for an unknown ' +
  'slug and for GET. If a rule cannot be checked, the decision is BLOCK.';

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
        const asked = {
          asked_by: 'compliance',
          slug,
          action,
          limit: null,
          authority: null,
        } as const;
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
    ...CARRIER_ACT,
    path: '/pas/v1/bind-check',
    summary: 'Bind check of a policy administration system',
    description: `${DESCRIPTION} Policy, agent, premium, limit and authority are commitments in the log.`,
    body: Type.Object(
      {
        slug: Type.Optional({
          ...Text,
          description: 'The slug of the enrollment. Either this or `company` is required.',
        }),
        company: Type.Optional(Text),
        policy_id: Text,
        action: Type.Optional(Action),
        premium_usd: Type.Optional(AmountInput),
        limit_usd: Type.Optional(AmountInput),
        agent_id: Type.Optional(Text),
        authority: Type.Optional(
          Type.Object(
            { limit_usd: AmountInput },
            {
              description:
                'The largest limit that the agent may bind. It can only lower the limit of the mandate. If neither ' +
                'is set, a check with a limit is BLOCK.',
            },
          ),
        ),
        receipt_entry_id: Type.Optional({
          ...Text,
          description:
            'Entry id or entry hash of a classification or decision of the insured. The default is the newest one.',
        }),
        session_id: Type.Optional(Text),
      },
      { $id: 'BindCheckRequest', ...atLeastOne('slug', 'company') },
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
        limit,
        authority: most,
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

/** The slug that a request names, directly or by the company name. If it has both, they must agree. */
function slugIn({ slug, company }: Named): string {
  if (company === undefined) return slug ?? '';
  const named = slugOf(company, 'company');
  if (slug === undefined || slug === named) return named;
  const rule = new RegExp(SLUG).test(slug)
    ? `the slug of company is ${named}`
    : 'slug is not a valid slug';
  throw new ApiError('parameter_invalid', `slug and company differ: ${rule}`, { param: 'slug' });
}
