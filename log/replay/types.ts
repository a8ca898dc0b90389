// The entry types that a replayed log has declared: checks entries against their schemas, and new declarations against
// earlier ones. log/FORMAT.md §2, §3. Server only (ajv).

import type { ValidateFunction } from 'ajv';
import type { Json, JsonObject } from '../encoding/json.ts';
import { COMMON_MEMBERS } from '../rules/declaration.ts';
import { checkClearText, clearTextOf } from '../rules/clear-text.ts';
import type { ClearText } from '../rules/clear-text.ts';
import { schemaCompiler } from '../rules/json-schema.ts';
import { RuleBroken } from '../rules/violation.ts';

/** The members of a `log.entry_type.v1` entry. */
export interface Declaration {
  readonly name: string;
  readonly schema: JsonObject;
  readonly keys: readonly (readonly string[])[];
}

interface DeclaredType extends Declaration {
  readonly index: number;
  readonly clearText: ClearText;
  /** Compiled at the first use. `checkDeclaration` has already checked that the schema compiles. */
  validate: ValidateFunction | null;
}

/** The state as JSON, for `restore`. */
export type TypesDump = readonly (Declaration & { readonly index: number })[];

const compileSchema = schemaCompiler({
  // An unknown keyword is refused, because a reader would take it for a rule that is enforced. The other strict options
  // of ajv concern style; a log that ignores them breaks no rule of the format.
  strictSchema: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  logger: false,
});

/** The types that the entries so far have declared. */
export class EntryTypes {
  readonly #types = new Map<string, DeclaredType>();
  /** Chain kind → its member list as JSON, and the index of its first declaration. */
  readonly #kinds = new Map<string, { readonly members: string; readonly index: number }>();

  /** The declared chain kinds, with the number of members in their keys. */
  kinds(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#kinds].map(([kind, { members }]) => [
        kind,
        (JSON.parse(members) as string[]).length,
      ]),
    );
  }

  /** The chain templates of a type; throws RuleBroken `type_undeclared` if the log has not declared it. */
  templates(name: string): readonly (readonly string[])[] {
    return this.#type(name).keys;
  }

  /**
   * Checks a statement without its common members: it must match the schema of its type and contain no free text.
   *
   * @throws RuleBroken `type_undeclared`, `clear_text`, `schema`
   */
  checkStatement(name: string, statement: JsonObject): void {
    const type = this.#type(name);
    const own: Record<string, Json> = {};
    for (const member of Object.keys(statement)) {
      if (!COMMON_MEMBERS.has(member)) define(own, member, statement[member] ?? null);
    }
    checkClearText(own, type.clearText, [type.index]);
    type.validate ??= compile(type.schema);
    if (!type.validate(own)) {
      const [error] = type.validate.errors ?? [];
      const where = error === undefined ? '' : `: ${error.instancePath} ${error.message ?? ''}`;
      throw new RuleBroken('schema', `statement does not fit the schema of ${name}${where}`, [
        type.index,
      ]);
    }
  }

  /**
   * Compares a declaration with earlier ones, and compiles its schema.
   *
   * @throws RuleBroken `type_declared_twice`, `type_template`, `type_schema`
   */
  checkDeclaration(declaration: Declaration): void {
    const { name, keys, schema } = declaration;
    const before = this.#types.get(name);
    if (before !== undefined) {
      throw new RuleBroken('type_declared_twice', `${name} is declared already`, [before.index]);
    }
    for (const [kind = '', ...members] of keys) {
      const before = this.#kinds.get(kind);
      if (before !== undefined && before.members !== JSON.stringify(members)) {
        const detail = `chain kind ${kind} has another member list already`;
        throw new RuleBroken('type_template', detail, [before.index]);
      }
    }
    compile(schema);
  }

  /** Adds a declaration that `checkDeclaration` accepted. */
  add(declaration: Declaration, index: number): void {
    const { name, schema, keys } = declaration;
    const clearText = clearTextOf(schema);
    this.#types.set(name, { name, schema, keys, index, clearText, validate: null });
    for (const [kind = '', ...members] of keys) {
      if (!this.#kinds.has(kind))
        this.#kinds.set(kind, { members: JSON.stringify(members), index });
    }
  }

  dump(): TypesDump {
    return [...this.#types.values()].map(({ name, schema, keys, index }) => ({
      name,
      schema,
      keys,
      index,
    }));
  }

  restore(dump: TypesDump): void {
    for (const declaration of dump) this.add(declaration, declaration.index);
  }

  #type(name: string): DeclaredType {
    const type = this.#types.get(name);
    if (type === undefined) throw new RuleBroken('type_undeclared', `${name} is not declared`);
    return type;
  }
}

/** Compiles a declared schema; throws RuleBroken `type_schema` if it is not a valid schema. */
function compile(schema: JsonObject): ValidateFunction {
  try {
    return compileSchema(schema);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RuleBroken('type_schema', `schema is not strict JSON Schema 2020-12: ${why}`);
  }
}

/** Sets a member. An assignment to `__proto__` would set the prototype instead. */
function define(object: Record<string, Json>, name: string, value: Json): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, enumerable: true });
  else object[name] = value;
}
