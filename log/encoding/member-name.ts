// `"name":` as JSON has it before a member: a handful of names, written for every entry and every answer.

const known = new Map<string, string>();
/** Names come from schemas, and a schema may let any through. */
const MOST_KNOWN = 4096;

/** A member's name in JSON, with the colon. */
export function memberName(name: string): string {
  const printed = known.get(name);
  if (printed !== undefined) return printed;
  const prefix = `${JSON.stringify(name)}:`;
  if (known.size < MOST_KNOWN) known.set(name, prefix);
  return prefix;
}
