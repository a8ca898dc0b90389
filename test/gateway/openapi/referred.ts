// Resolves the references of an OpenAPI document.

/** The value, or what its `$ref` refers to in the document; such a value has no members of its own. */
export function referred<T extends object>(document: unknown, value: T): T {
  const { $ref } = value as { readonly $ref?: string };
  if ($ref === undefined) return value;
  return $ref
    .split('/')
    .slice(1)
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document) as T;
}
