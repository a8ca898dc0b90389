// Decisions and classifications under other inputs, for /tcb/counterfactual-replay: by the rules that hold now,
// and by what the log still discloses of the first inputs. gateway/API.md §7.7.

import type { ClassifyApi } from '../classify/index.ts';
import { ApiError, atomicOf, isAtomic } from '../contract/index.ts';
import type { Atomic, Json, JsonObject, PluginHost } from '../contract/index.ts';
import type { Evaluator, Replayed } from '../restraint/index.ts';
import type { GateCatalog } from './asking.ts';
import { BIND_HELD, decide } from './rules.ts';
import type { Act } from './rules.ts';
import { REVERSIBILITIES } from './entries.ts';
import { policyAt, policyInForce, versionAt } from './policies.ts';
import type { Policy } from './policies.ts';

type Judge = Pick<ClassifyApi, 'judge'>;

const MESSAGE = ['message', 'domain'];

/** How a `classify.result.v1` is classified again. Changes: `message`, `domain`. */
export function classifyEvaluator(host: PluginHost, classify: Judge): Evaluator {
  return {
    inputs: MESSAGE,
    original: (statement) => statement['classification'] as string,
    async evaluate({ statement, changes, caller }) {
      const opened = await host.disclosed(caller, statement['entry_id'] as string);
      const first = opened['message']?.value;
      const message = textOf(changes, 'message') ?? needed('message', first);
      const given = opened['domain']?.value ?? statement['domain'];
      const domain = textOf(changes, 'domain') ?? needed('domain', given);
      return (await classify.judge(message, domain)).result.classification;
    },
  };
}

/**
 * How a decision of the gate is decided again, by the policy in force or the version that `policy_version` names.
 * Other changes: `action_type, entity, surface, amount_atomic, currency, reversibility, message, domain`, and
 * `bind_held`: whether a trigger holds the bind. Like every input that is not changed, it is as it was.
 */
export function decisionEvaluator(
  host: PluginHost,
  catalog: GateCatalog,
  classify: Judge,
): Evaluator {
  return {
    inputs: [
      ...['action_type', 'entity', 'surface', 'amount_atomic', 'currency', 'reversibility'],
      ...['policy_version', 'bind_held', ...MESSAGE],
    ],
    original: (statement) => statement['outcome'] as string,
    async evaluate(replayed) {
      const { statement, changes, caller } = replayed;
      const opened = await host.disclosed(caller, statement['entry_id'] as string);
      const preimage = opened['preimage']?.value as { readonly action_type?: string } | undefined;
      const message = textOf(changes, 'message') ?? opened['message']?.value;
      const told = textOf(changes, 'domain') ?? opened['domain']?.value;
      const domain = typeof told === 'string' ? told : catalog.default_domain;
      const classification =
        typeof message === 'string'
          ? (await classify.judge(message, domain)).result.classification
          : ((statement['classification'] ?? 'NONE') as Act['classification']);
      const currency = textOf(changes, 'currency') ?? opened['currency']?.value;
      const inputs = {
        entity: textOf(changes, 'entity') ?? statement['entity'],
        surface: textOf(changes, 'surface') ?? statement['surface'],
        amount_atomic: amountOf(changes) ?? statement['amount_atomic'],
        currency: currency ?? statement['currency'],
        reversibility: reversibilityOf(changes) ?? statement['reversibility'],
      };
      const known = Object.entries(inputs).filter(([, value]) => value !== undefined);
      const act = {
        ...(Object.fromEntries(known) as Omit<Act, 'action_type' | 'classification'>),
        action_type: textOf(changes, 'action_type') ?? needed('action_type', preimage?.action_type),
        classification,
      };
      const { outcome } = decide(act, policyFor(host, replayed));
      if (heldOf(changes) ?? wasHeld(statement)) return BIND_HELD.outcome;
      // A trigger gives the permit for an act that the policy holds.
      return outcome === 'HOLD' && statement['basis'] === 'trigger' ? 'PERMIT' : outcome;
    },
  };
}

/** `host` is the gate's own: rows are those of the plugin that looks. */
function policyFor(
  host: PluginHost,
  { changes, caller }: Pick<Replayed, 'changes' | 'caller'>,
): Policy | null {
  const version = changes['policy_version'];
  const { kind, tenant_ref } = caller;
  if (version === undefined) return policyInForce(host.log(kind), tenant_ref)?.policy ?? null;
  if (version === 0) return null;
  const found =
    typeof version === 'number' && Number.isSafeInteger(version) && version > 0
      ? versionAt(host.logs(kind), tenant_ref, version)
      : null;
  if (found === null) throw invalid('policy_version', 'is none of the policy');
  return policyAt(found.log, found.index);
}

function textOf(changes: JsonObject, name: string): string | undefined {
  const value = changes[name];
  if (value === undefined || typeof value === 'string') return value;
  throw invalid(name, 'must be a string');
}

function amountOf({ amount_atomic }: JsonObject): Atomic | undefined {
  if (amount_atomic === undefined) return undefined;
  if (isAtomic(amount_atomic)) return atomicOf(amount_atomic);
  const rule = 'must be an integer from 0 to 2^53 - 1, or a string of at most 78 digits';
  throw invalid('amount_atomic', rule);
}

function reversibilityOf(changes: JsonObject): string | undefined {
  const value = textOf(changes, 'reversibility');
  if (value === undefined || (REVERSIBILITIES as readonly string[]).includes(value)) return value;
  throw invalid('reversibility', `must be one of ${REVERSIBILITIES.join(', ')}`);
}

function heldOf({ bind_held }: JsonObject): boolean | undefined {
  if (bind_held === undefined || typeof bind_held === 'boolean') return bind_held;
  throw invalid('bind_held', 'must be true or false');
}

const wasHeld = ({ reasons = [] }: JsonObject): boolean =>
  (reasons as readonly Json[]).some((reason) => BIND_HELD.reasons.includes(reason as string));

function needed(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  const message = `changes.${name} is missing, and nothing discloses what it was`;
  throw new ApiError('parameter_missing', message, { param: `changes.${name}` });
}

const invalid = (name: string, rule: string): ApiError =>
  new ApiError('parameter_invalid', `changes.${name} ${rule}`, { param: `changes.${name}` });
