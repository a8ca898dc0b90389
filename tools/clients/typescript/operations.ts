// Types of the operations, derived from the OpenAPI document. The build writes paths.ts (tools/client-types.ts).

import type { paths } from './paths.ts';

/** HTTP methods of operations that the client sends. */
export type Method = 'GET' | 'POST' | 'DELETE';

type MethodKey<M extends Method> = Lowercase<M>;

/** The operation of a method on a path; never if there is none. */
type Operation<M extends Method, P extends keyof paths> =
  paths[P] extends Record<MethodKey<M>, infer O> ? O : never;

/** The paths that have an operation of this method, as the OpenAPI document writes them. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: Operation<M, P> extends { readonly responses: unknown } ? P : never;
}[keyof paths];

type ParametersOf<O, In extends 'path' | 'query'> = O extends {
  readonly parameters: infer All extends object;
}
  ? In extends keyof All
    ? NonNullable<All[In]>
    : never
  : never;

type JsonOf<C> = C extends { readonly content: { readonly 'application/json': infer B } }
  ? B
  : never;

/** The request body of an operation; never if it has none. */
export type BodyOf<M extends Method, P extends PathOf<M>> =
  Operation<M, P> extends { readonly requestBody?: infer R } ? JsonOf<NonNullable<R>> : never;

/** The answer of an operation with status 200. */
export type AnswerOf<M extends Method, P extends PathOf<M>> =
  Operation<M, P> extends { readonly responses: { readonly 200: infer R } } ? JsonOf<R> : never;

/** Parameters in the query of an operation. */
export type QueryOf<M extends Method, P extends PathOf<M>> = ParametersOf<Operation<M, P>, 'query'>;

/** Parameters in the path of an operation. */
export type PathParametersOf<M extends Method, P extends PathOf<M>> = ParametersOf<
  Operation<M, P>,
  'path'
>;

/** A member that is required if the operation has it with required members, optional if not, absent if there is none. */
type Part<Name extends string, Value> = [Value] extends [never]
  ? Readonly<Partial<Record<Name, undefined>>>
  : Partial<Value> extends Value
    ? Readonly<Partial<Record<Name, Value>>>
    : Readonly<Record<Name, Value>>;

/** What an operation takes. */
export type Input<M extends Method, P extends PathOf<M>> = Part<'body', BodyOf<M, P>> &
  Part<'query', QueryOf<M, P>> &
  Part<'path', PathParametersOf<M, P>>;

/** The paths whose answers are pages: `{data, has_more, next_cursor}` (gateway/API.md §1.5). */
export type ListPath = {
  [P in PathOf<'GET'>]: AnswerOf<'GET', P> extends {
    readonly data: readonly unknown[];
    readonly has_more: boolean;
  }
    ? P
    : never;
}[PathOf<'GET'>];

/** A row of a list. */
export type RowOf<P extends ListPath> =
  AnswerOf<'GET', P> extends { readonly data: readonly (infer R)[] } ? R : never;
