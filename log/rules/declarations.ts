// The entry types of a log: those that its entries declare, and those that plugins bring to check and project entries.
// log/FORMAT.md §2, §3: a name is declared once, before its first entry, and all templates of a kind have the same
// members.

import type { ValidateFunction } from 'ajv/dist/2020.js';
import { canonical } from '../encoding/canonical.ts';
import type { JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import { clearTextOf, type ClearText } from './clear-text.ts';
import { schemaCompiler } from './json-schema.ts';
import { checkDeclaration, COMMON_MEMBERS } from './declaration.ts';
import type { EntryType, Watch } from '../types.ts';

/** A declared type. */
export interface Declared {
  readonly name: string;
  readonly keys: readonly (readonly string[])[];
  readonly validate: ValidateFunction;
  readonly clearText: ClearText;
  readonly project?: EntryType['project'];
  readonly watch?: Watch | undefined;
  /** Index of the declaration. */
  readonly since: number;
}

/** A watch and the type that has it. */
export type Watcher = Declared & { readonly watch: Watch };

const compileStrict = schemaCompiler({
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
});

/** Builds the validator of a declared schema. Throws `entry_invalid` if it is not a strict JSON Schema 2020-12. */
function compileSchema(schema: JsonObject): ValidateFunction {
  try {
    return compileStrict(schema);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LogError(
      'entry_invalid',
      `its schema is not a strict JSON Schema 2020-12: ${reason}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Throws `entry_invalid` with the reason for a type that a log would not declare, and for members that the log itself
 * sets.
 *
 * @param compile whether to compile the schema, which takes some milliseconds; a log also does so before it declares a type
 */
export function checkEntryType({ name, schema, keys }: EntryType, compile = true): void {
  checkDeclaration({ name, schema, keys });
  const members = Object.keys((schema['properties'] ?? {}) as JsonObject);
  const common = members.find((member) => COMMON_MEMBERS.has(member));
  if (common !== undefined) {
    throw new LogError(
      'entry_invalid',
      `its schema names the member ${common}, which the log sets`,
    );
  }
  if (compile) compileSchema(schema);
}

/** The plugin that a type or kind belongs to: its name up to the first dot. */
export const pluginOf = (name: string): string => name.slice(0, name.indexOf('.'));

const sameDeclaration = (a: EntryType, b: JsonObject): boolean =>
  canonical(a.schema) === canonical(b['schema'] ?? null) &&
  canonical(a.keys) === canonical(b['keys'] ?? null);

/** The types of one log: those that its entries declare and those that its plugins bring. */
export class Declarations {
  readonly #declared = new Map<string, Declared>();
  readonly #statements = new Map<string, JsonObject>();
  readonly #brought = new Map<string, EntryType>();
  readonly #kinds = new Map<string, string>();
  /** Names declared since `begin`. */
  #journal: string[] = [];
  #watchers: readonly Watcher[] | null = null;

  /** Number of members of each declared chain kind, as `checkKey` takes it. */
  readonly kinds = new Map<string, number>();

  /** Adds a type of a plugin. The log may have declared it already, or declare it later. */
  bring(type: EntryType): void {
    const { name, schema, keys } = type;
    checkDeclaration({ name, schema, keys });
    this.#brought.set(type.name, type);
    const statement = this.#statements.get(type.name);
    if (statement !== undefined) this.apply(statement);
  }

  /** Marks the point to which `rollback` returns. */
  begin(): void {
    this.#journal = [];
  }

  rollback(): void {
    if (this.#journal.length === 0) return;
    for (const name of this.#journal) {
      this.#declared.delete(name);
      this.#statements.delete(name);
    }
    this.#journal = [];
    this.#watchers = null;
    this.#kinds.clear();
    this.kinds.clear();
    for (const { keys } of this.#declared.values()) this.#takeKinds(keys);
  }

  /** Applies a `log.entry_type.v1` entry, which `check` accepted when it was appended. */
  apply(statement: JsonObject): void {
    const name = statement['name'] as string;
    const keys = statement['keys'] as unknown as readonly (readonly string[])[];
    const schema = statement['schema'] as JsonObject;
    let compiled: ValidateFunction | undefined;
    this.#journal.push(name);
    this.#statements.set(name, statement);
    this.#declared.set(name, {
      name,
      keys,
      // At the first use: a log that is opened has dozens of types, and compiling all is a third of the time.
      get validate() {
        return (compiled ??= compileSchema(schema));
      },
      clearText: clearTextOf(schema),
      project: this.#brought.get(name)?.project,
      watch: this.#brought.get(name)?.watch,
      since: statement['index'] as number,
    });
    this.#watchers = null;
    this.#takeKinds(keys);
  }

  /**
   * The watches that see an entry of a tenant, in the order of the names of their types, which is the same in every
   * replay.
   */
  get watchers(): readonly Watcher[] {
    this.#watchers ??= [...this.#declared.values()]
      .filter((declared): declared is Watcher => declared.watch !== undefined)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    return this.#watchers;
  }

  /**
   * Whether the log has not declared this type yet. Throws `type_conflict` if it has declared the name or a chain kind
   * differently.
   */
  lacks(type: EntryType): boolean {
    const { name, schema, keys } = type;
    checkDeclaration({ name, schema, keys });
    const statement = this.#statements.get(name);
    if (statement === undefined) {
      this.#checkKinds(keys);
      return true;
    }
    if (sameDeclaration(type, statement)) return false;
    throw new LogError(
      'type_conflict',
      `type ${name} is declared with another schema or other keys: a change is a new version`,
    );
  }

  /**
   * Throws `entry_invalid` for a declaration whose schema is not a strict JSON Schema 2020-12, and `type_conflict` for
   * one that contradicts an earlier one.
   */
  check({ name, keys, schema }: JsonObject): void {
    if (this.#statements.has(name as string)) {
      throw new LogError('type_conflict', `type ${name as string} is declared already`);
    }
    this.#checkKinds(keys as unknown as readonly (readonly string[])[]);
    compileSchema(schema as JsonObject);
  }

  #checkKinds(keys: readonly (readonly string[])[]): void {
    for (const [kind = '', ...members] of keys) {
      const known = this.#kinds.get(kind);
      if (known !== undefined && known !== members.join(' ')) {
        throw new LogError(
          'type_conflict',
          `chain kind ${kind} has other members already: ${known}`,
        );
      }
    }
  }

  #takeKinds(keys: readonly (readonly string[])[]): void {
    for (const [kind = '', ...members] of keys) {
      this.kinds.set(kind, members.length);
      this.#kinds.set(kind, members.join(' '));
    }
  }

  /** Whether the log declares a type of this name. */
  has(name: string): boolean {
    return this.#declared.has(name);
  }

  /** The type of an entry. Throws `type_undeclared` if the log has not declared it. */
  of(name: string): Declared {
    const declared = this.#declared.get(name);
    if (declared === undefined)
      throw new LogError('type_undeclared', `type ${name} is not declared`);
    return declared;
  }

  /** Plugins with a declared type that is not among these names. Their rows cannot be derived here. */
  absent(brought: readonly string[]): ReadonlySet<string> {
    const names = [...this.#declared.keys()].filter((name) => !brought.includes(name));
    return new Set(names.map(pluginOf));
  }
}
