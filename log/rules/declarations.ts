// The entry types of a log: what its entries declare, and what plugins bring to project and check them.
// log/FORMAT.md §2, §3: a name is declared once, before its first entry; a kind has one member list for ever.

import type { ValidateFunction } from 'ajv/dist/2020.js';
import { canonical } from '../encoding/canonical.ts';
import type { JsonObject } from '../encoding/json-types.ts';
import { LogError } from '../errors.ts';
import { clearTextOf, type ClearText } from './clear-text.ts';
import { schemaCompiler } from './json-schema.ts';
import { checkDeclaration, COMMON_MEMBERS } from './declaration.ts';
import type { EntryType, Watch } from '../types.ts';

/** A type as the log knows it. */
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

/** Builds the validator of a declared schema; `entry_invalid` when it is no strict JSON Schema 2020-12. */
function compileSchema(schema: JsonObject): ValidateFunction {
  try {
    return compileStrict(schema);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LogError('entry_invalid', `its schema is no strict JSON Schema 2020-12: ${reason}`, {
      cause: error,
    });
  }
}

/**
 * Refuses, with the reason, what a log would not declare, and members that no entry could ever have: those that the
 * log itself sets. `entry_invalid`.
 */
export function checkEntryType({ name, schema, keys }: EntryType): void {
  checkDeclaration({ name, schema, keys });
  const members = Object.keys((schema['properties'] ?? {}) as JsonObject);
  const common = members.find((member) => COMMON_MEMBERS.has(member));
  if (common !== undefined) {
    throw new LogError(
      'entry_invalid',
      `its schema names the member ${common}, which the log sets`,
    );
  }
  compileSchema(schema);
}

/** The plugin that a type or kind belongs to: its name up to the first dot. */
export const pluginOf = (name: string): string => name.slice(0, name.indexOf('.'));

const sameDeclaration = (a: EntryType, b: JsonObject): boolean =>
  canonical(a.schema) === canonical(b['schema'] ?? null) &&
  canonical(a.keys) === canonical(b['keys'] ?? null);

/** All types of one log, those of its entries and those its plugins bring. */
export class Declarations {
  readonly #declared = new Map<string, Declared>();
  readonly #statements = new Map<string, JsonObject>();
  readonly #brought = new Map<string, EntryType>();
  readonly #kinds = new Map<string, string>();
  /** Names declared since `begin`. */
  #journal: string[] = [];
  #watchers: readonly Watcher[] | null = null;

  /** Number of members of each declared chain kind, as `checkKey` wants it. */
  readonly kinds = new Map<string, number>();

  /** Remembers what a plugin brings; the log may declare it before or after. */
  bring(type: EntryType): void {
    const { name, schema, keys } = type;
    checkDeclaration({ name, schema, keys });
    this.#brought.set(type.name, type);
    const statement = this.#statements.get(type.name);
    if (statement !== undefined) this.apply(statement);
  }

  /** From here on `rollback` takes declarations back. */
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

  /** Takes over a `log.entry_type.v1` of the log. */
  apply(statement: JsonObject): void {
    const name = statement['name'] as string;
    const keys = statement['keys'] as unknown as readonly (readonly string[])[];
    const schema = statement['schema'] as JsonObject;
    const validate = compileSchema(schema);
    this.#journal.push(name);
    this.#statements.set(name, statement);
    this.#declared.set(name, {
      name,
      keys,
      validate,
      clearText: clearTextOf(schema),
      project: this.#brought.get(name)?.project,
      watch: this.#brought.get(name)?.watch,
      since: statement['index'] as number,
    });
    this.#watchers = null;
    this.#takeKinds(keys);
  }

  /** Those who see an entry of a tenant, in the order of their names: the same at every replay. */
  get watchers(): readonly Watcher[] {
    this.#watchers ??= [...this.#declared.values()]
      .filter((declared): declared is Watcher => declared.watch !== undefined)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    return this.#watchers;
  }

  /** Whether the log lacks this type; `type_conflict` when it has another one of the name or of a kind. */
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

  /** What a declaration may not do, given those before it: `type_conflict`. */
  check({ name, keys }: JsonObject): void {
    if (this.#statements.has(name as string)) {
      throw new LogError('type_conflict', `type ${name as string} is declared already`);
    }
    this.#checkKinds(keys as unknown as readonly (readonly string[])[]);
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

  /** The type of an entry; `type_undeclared` when the log does not have it. */
  of(name: string): Declared {
    const declared = this.#declared.get(name);
    if (declared === undefined)
      throw new LogError('type_undeclared', `type ${name} is not declared`);
    return declared;
  }

  /** Plugins with a declared type that is not among these names: what they project is not known here. */
  absent(brought: readonly string[]): ReadonlySet<string> {
    const names = [...this.#declared.keys()].filter((name) => !brought.includes(name));
    return new Set(names.map(pluginOf));
  }
}
