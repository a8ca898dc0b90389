// Where a verification takes its trust from: a kit that the caller has kept, or the operator's own, which
// is then said; and a witness policy of the caller's.

import { readFile } from 'node:fs/promises';
import { isJsonObject, isLogError, native, parseJson, parsePolicy } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';
import { trustFromKit } from '../../log/verify.ts';
import type { Trust } from '../../log/verify.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { fetchText, MAX_KIT_BYTES } from '../fetch-text.ts';

const KIT_PATH = '/export/offline-verify-kit.json';

/** A kit and where it came from. */
export interface Kit {
  readonly kit: JsonObject;
  readonly source: string;
  /** True when it was fetched in this run, from the operator who is being checked. */
  readonly fetched: boolean;
}

/** What the caller says about trust. */
export interface TrustOptions {
  /** A file, or an address. */
  readonly kit?: string;
  /** Base address of a service whose kit is fetched. */
  readonly url?: string;
  /** File of a C2SP tlog-policy. */
  readonly policy?: string;
  /** `kind=members` of chains that entry types declare. */
  readonly chain?: readonly string[];
  /** Whether each checkpoint must have the log's ML-DSA-44 signature. */
  readonly requireMlDsa?: boolean;
}

/** Reads the kit that the options name, or fetches that of the service that the checked thing came from. */
export async function readKit(options: TrustOptions, shownAt: URL | null): Promise<Kit> {
  const { kit, url } = options;
  const address =
    kit !== undefined && /^https?:/.test(kit)
      ? new URL(kit)
      : url !== undefined
        ? new URL(KIT_PATH, url)
        : kit === undefined && shownAt !== null
          ? new URL(KIT_PATH, shownAt)
          : null;
  if (address !== null) {
    const text = await fetchText(address, MAX_KIT_BYTES);
    return { kit: kitOf(text, address.href), source: address.href, fetched: true };
  }
  if (kit === undefined) {
    throw new CommandError(
      'a kit says which keys to trust: give --kit FILE (kept from /export/offline-verify-kit.json), or ' +
        '--url of the service to fetch it now and so trust its operator for it',
      EXIT.unknown,
    );
  }
  return { kit: kitOf(await readFile(kit, 'utf8'), kit), source: kit, fetched: false };
}

/** The kit that a text is; CommandError (exit 2) when it is none. */
export function kitOf(text: string, source: string): JsonObject {
  let kit: Json = null;
  let why = '';
  try {
    kit = parseJson(text, { maxBytes: MAX_KIT_BYTES, fractions: true });
  } catch (error) {
    if (!isLogError(error)) throw error;
    why = `: ${error.message}`;
  }
  if (!isJsonObject(kit) || kit['schema'] !== 'svc-offline-verify-kit-v1') {
    throw new CommandError(
      `${source} is no offline verification kit${why}; a service has one at ${KIT_PATH}, which --url fetches`,
      EXIT.unknown,
    );
  }
  return kit;
}

/** What the kit says of one of its logs, with the caller's policy and chain kinds. */
export async function trustOf(kit: Kit, origin: string, options: TrustOptions): Promise<Trust> {
  const trust = trustFromKit(kit.kit, origin, { suite: native });
  const kinds = new Map([...(trust.kinds ?? []), ...(options.chain ?? []).map(chainKind)]);
  const policy =
    options.policy === undefined
      ? {}
      : {
          policy: parsePolicy(native, await readFile(options.policy, 'utf8')),
          policy_source: 'caller' as const,
        };
  if (options.requireMlDsa !== true) return { ...trust, ...policy, kinds };
  if (trust.vkey_ml_dsa === undefined) {
    throw new CommandError(`the kit names no ML-DSA-44 key of ${origin}`, EXIT.unknown);
  }
  return { ...trust, ...policy, kinds, require_ml_dsa: true };
}

function chainKind(text: string): [string, number] {
  const [, kind = '', members = ''] = /^([a-z0-9_.-]+)=([1-9])$/.exec(text) ?? [];
  if (kind === '') {
    throw new CommandError(`${text} is no chain kind: write gate.case=1`, EXIT.unknown);
  }
  return [kind, Number(members)];
}
