// Declared entry types: their schemas and chain templates. log/FORMAT.md §2, §3. Server only (ajv).

import type { ValidateFunction } from 'ajv';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { COMMON_MEMBERS } from '../rules/declaration.ts';
import { checkClearText, clearTextOf } from '../rules/clear-text.ts';
import type { ClearText } from '../rules/clear-text.ts';
import { schemaCompiler } from '../rules/json-schema.ts';
import { RuleBroken } from '../rules/violation.ts';

/** A declaration as it stands in its entry. */
export interface Declaration {
  readonly name: string;
  readonly schema: JsonObject;
  readonly keys: readonly (readonly string[])[];
}

interface DeclaredType extends Declaration {
  readonly index: number;
  readonly clearText: ClearText;
  /** Compiled at the first use; that it compiles was checked at the declaration. */
  validate: ValidateFunction | null;
}

/** What `restore` needs. */
export type TypesDump = readonly (Declaration & { readonly index: number })[];

const compileSchema = schemaCompiler({
  // An unknown keyword is refused: it would look like a rule and be none. The other strict options of
  // ajv are opinions on style, and not ours to call a declaration a violation for.
  strictSchema: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  logger: false,
});

/** The types that the entries so far have declared. */
export class EntryTypes {
  readonly #types = new Map<string, DeclaredType>();
  /** Chain kind → its one member list, as JSON. */
  readonly #kinds = new Map<string, { readonly members: string; readonly index: number }>();

  /** Kinds of declared chains and how many members their keys have. */
  kinds(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#kinds].map(([kind, { members }]) => [
        kind,
        (JSON.parse(members) as string[]).length,
      ]),
    );
  }

  /** Templates of a declared type; `type_undeclared` when it is none. */
  templates(name: string): readonly (readonly string[])[] {
    return this.#type(name).keys;
  }

  /** The statement without the members of the table fits the schema, and nothing of it is free text. */
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

  /** What a declaration may not do, given those before it. */
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

  /** Takes a declaration that was checked. */
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

/** Builds the validator of a declared schema; `type_schema` when it is none. */
function compile(schema: JsonObject): ValidateFunction {
  try {
    return compileSchema(schema);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RuleBroken('type_schema', `schema is not strict JSON Schema 2020-12: ${why}`);
  }
}

/** `__proto__` is a member like any other. */
function define(object: Record<string, Json>, name: string, value: Json): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, enumerable: true });
  else object[name] = value;
}
