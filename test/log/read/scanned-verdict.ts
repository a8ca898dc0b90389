// The verdict on a window by a scan of all entries of an entity: the oracle for absence documents. It goes statement
// by statement and millisecond by millisecond, and shares no code with the verifier. log/FORMAT.md §6.

import type { EntryType, JsonObject } from '../../../log/index.ts';
import type { Verdict } from '../../../log/verify.ts';

/** The type of an act on a surface; the members entity and surface put it on the chain of the surface. */
export const ACT: EntryType = {
  name: 'demo.attempt.v1',
  schema: {
    type: 'object',
    properties: { entity: { type: 'string' }, surface: { type: 'string' } },
    required: ['entity', 'surface'],
    additionalProperties: false,
  },
  keys: [],
};

/** A window of a surface, with both ends included. */
export interface Asked {
  readonly surface: string;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** The entries of an entity by type, in order. */
export interface Told {
  readonly acts: readonly JsonObject[];
  readonly manifests: readonly JsonObject[];
  readonly beats: readonly JsonObject[];
}

/** The expected result for a window: indexes of all acts on the surface, how many are inside, and the verdict. */
export interface Scanned {
  readonly chain: readonly number[];
  readonly inside: number;
  readonly verdict: Verdict;
}

export const VERDICTS: readonly Verdict[] = ['PRESENT', 'UNDECLARED', 'UNDERSAMPLED', 'ABSENT'];

const ms = (statement: JsonObject): number => statement.issued_at_ms as number;

export function told(statements: readonly JsonObject[]): Told {
  const of = (type: string): JsonObject[] => statements.filter((entry) => entry.type === type);
  return { acts: of(ACT.name), manifests: of('astl.manifest.v1'), beats: of('astl.heartbeat.v1') };
}

export function scan({ acts, manifests, beats }: Told, asked: Asked): Scanned {
  const chain = acts.filter((entry) => entry.surface === asked.surface);
  const inside = chain.filter((entry) => ms(entry) >= asked.from_ms && ms(entry) <= asked.to_ms);
  const verdict = (): Verdict => {
    if (inside.length > 0) return 'PRESENT';
    const inForce = declared(manifests, asked);
    if (inForce === null) return 'UNDECLARED';
    return covered(beats, inForce, asked) ? 'ABSENT' : 'UNDERSAMPLED';
  };
  return {
    chain: chain.map((entry) => entry.index as number),
    inside: inside.length,
    verdict: verdict(),
  };
}

/** The manifests of the window, or null unless each lists the surface and one is in force at each millisecond. */
function declared(manifests: readonly JsonObject[], asked: Asked): readonly JsonObject[] | null {
  const first = manifests.findLastIndex((entry) => ms(entry) < asked.from_ms);
  if (first < 0) return null;
  const inForce = manifests.slice(first).filter((entry) => ms(entry) <= asked.to_ms);
  if (!inForce.every((entry) => (entry.surfaces as string[]).includes(asked.surface))) return null;
  for (let at = asked.from_ms; at <= asked.to_ms; at++) {
    const spanned = inForce.some((entry, i) => {
      const next = inForce[i + 1];
      const until = (entry.valid_until_ms as number | undefined) ?? Infinity;
      const from = Math.max(ms(entry), entry.valid_from_ms as number);
      return from <= at && at <= Math.min(until, next === undefined ? Infinity : ms(next));
    });
    if (!spanned) return null;
  }
  return inForce;
}

/** Whether one unbroken run of heartbeats covers the window; runs are computed from the heartbeats. */
function covered(
  all: readonly JsonObject[],
  inForce: readonly JsonObject[],
  { surface: name, from_ms, to_ms }: Asked,
): boolean {
  const promised = inForce.flatMap(
    (entry) => (entry.heartbeat_interval_ms as number | undefined) ?? [],
  );
  if (promised.length === 0) return true;
  const limit = Math.min(...promised);
  let before: JsonObject | undefined;
  let since = 0;
  for (const beat of all.filter((entry) => entry.surface === name)) {
    const every = beat.interval_ms as number;
    const late = before === undefined || ms(beat) - ms(before) > every;
    if (late || before?.interval_ms !== every) since = ms(beat);
    before = beat;
    if (every <= limit && since <= from_ms + limit && ms(beat) >= to_ms - limit) return true;
  }
  return false;
}
