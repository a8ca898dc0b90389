// The rules for a declaration of an entry type that need no other entry: its name and its chain templates
// (log/FORMAT.md §2 and §3). Rules that depend on earlier declarations are in declarations.ts: a name is declared once,
// and all templates of a kind have the same members. Browser-safe.

import type { Json, JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import * as grammar from '../map/grammar.ts';
import { KINDS } from '../map/key.ts';

/** Members that the core sets in statements; a type must not declare them. log/FORMAT.md §2. */
export const COMMON_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'origin',
  'entry_id',
  'index',
  'issued_at_ms',
  'kid',
  'sandbox',
  'tenant_ref',
  'links',
  'commitments',
  'event_at_ms',
  'toll',
  'toll_micro_usd',
  'cleared_micro_usd',
  'submitter',
]);

/** Members of receipts that no statement has. log/FORMAT.md §2. */
export const FORBIDDEN_MEMBERS: ReadonlySet<string> = new Set([
  'signature',
  'entry_hash',
  'permalink',
  'verify_url',
  'disclosures',
  'log',
  'ignored',
]);

/**
 * Checks a declaration `{name, schema, keys}`: its plugin must not be the core, and its chain templates must belong to
 * that plugin and name members of the schema.
 *
 * @throws LogError `entry_invalid`
 */
export function checkDeclaration(declaration: JsonObject): void {
  const { name, schema, keys } = declaration;
  if (typeof name !== 'string' || !grammar.typeName.test(name)) {
    throw invalid(`its name does not match ${grammar.typeName.rule}`);
  }
  const plugin = name.slice(0, name.indexOf('.'));
  if (plugin === 'log' || plugin === 'astl') throw invalid('types of log. and astl. are built in');
  const members = membersOf(schema);
  for (const member of FORBIDDEN_MEMBERS) {
    if (members.has(member))
      throw invalid(
        `a schema must not have the member ${member}, which receipts have outside the statement`,
      );
  }
  if (!Array.isArray(keys)) throw invalid('keys is not an array of templates');
  const lists = new Map<string, string>();
  for (const template of keys as readonly Json[]) {
    const [kind, ...list] = stringsOf(template);
    if (kind === undefined || list.length === 0)
      throw invalid(`the template ${JSON.stringify(template)} names no member`);
    if (!grammar.declaredKind.test(kind) || KINDS.has(kind) || !kind.startsWith(`${plugin}.`)) {
      throw invalid(`the kind ${kind} of a template does not match ${plugin}.<word>`);
    }
    for (const member of list) {
      if (COMMON_MEMBERS.has(member) || !members.has(member)) {
        throw invalid(
          `the template of ${kind} names ${member}, which is not a member of the schema`,
        );
      }
    }
    const text = JSON.stringify(list);
    if ((lists.get(kind) ?? text) !== text) throw invalid(`the kind ${kind} has two member lists`);
    lists.set(kind, text);
  }
}

function membersOf(schema: Json | undefined): ReadonlySet<string> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw invalid('schema is not an object');
  }
  const { properties } = schema as JsonObject;
  return new Set(
    typeof properties === 'object' && properties !== null ? Object.keys(properties) : [],
  );
}

function stringsOf(template: Json): readonly string[] {
  if (!Array.isArray(template) || !template.every((part) => typeof part === 'string')) {
    throw invalid('keys has a template that is not an array of strings');
  }
  return template;
}

function invalid(message: string): LogError {
  return new LogError('entry_invalid', message);
}
