// The entry types of statement registration (RFC 9943, SCITT), and the state that is carried into a successor log.
//
// A tenant registers the key of an issuer, and can then register statements that this key has signed. Entries contain
// hashes; names are commitments. The registered keys are the registration policy, so the policy is itself in the log. A
// successor gets the keys of issuers and their revocations. Statements are not carried, because all logs are searched
// before a statement is registered (scitt/routes.ts).

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  carriedKind,
  carriedType,
  eachRow,
  Hex32,
  sentenceOf,
  shortName,
} from '../contract/index.ts';
import type {
  CarriedPlace,
  Carry,
  EntryType,
  JsonObject,
  LogView,
  RowWriter,
  Sequenced,
} from '../contract/index.ts';

/** Name of the entry type of an issuer's key. */
export const ISSUER = 'exports.issuer.v1';
/** Name of the entry type of a registered statement. */
export const STATEMENT = 'exports.statement.v1';

/** Members of an issuer entry. The name `issuer` is a commitment. */
const IssuerMembers = Type.Object(
  {
    issuer_sha256: {
      ...Hex32,
      description: 'SHA-256 of the issuer’s name, claim 1 of its statements.',
    },
    algorithm: Type.Enum(['ES256', 'Ed25519']),
    public_key: Type.String({
      pattern: '^([0-9a-f]{64}|[0-9a-f]{128})$',
      description: 'x of Ed25519, or x and y of P-256.',
    }),
    key_thumbprint: { ...Hex32, description: 'RFC 9679, over the COSE_Key.' },
    status: Type.Enum(['active', 'revoked']),
  },
  { additionalProperties: false },
);

/** Members of a registration. Subject and content type are commitments. */
const StatementMembers = Type.Object(
  {
    statement_sha256: {
      ...Hex32,
      description: 'SHA-256 of the COSE_Sign1 with nothing in its unprotected header.',
    },
    payload_sha256: Hex32,
    issuer_sha256: Hex32,
    key_thumbprint: {
      ...Hex32,
      description: 'The key, as an issuer entry of the tenant names it.',
    },
    algorithm: Type.Enum(['ES256', 'EdDSA', 'Ed25519']),
  },
  { additionalProperties: false },
);

/** Row of a tenant's issuer key. */
export interface IssuerRow extends CarriedPlace {
  readonly algorithm: 'ES256' | 'Ed25519';
  readonly public_key: string;
  readonly status: 'active' | 'revoked';
}

/** Prefix of the rows of an issuer's keys, relative to the plugin; the thumbprint follows. */
export const issuerKeys = (tenant_ref: string, issuer_sha256: string): string =>
  `issuer/${tenant_ref}/${issuer_sha256}/`;
/** Name of the row of a registered statement, which has its index. */
export const statementRow = (tenant_ref: string, statement_sha256: string): string =>
  `statement/${tenant_ref}/${statement_sha256}`;

function projectIssuer({ index, statement }: Sequenced, rows: RowWriter): void {
  const { algorithm, public_key, status } = statement;
  const row = { index, algorithm, public_key, status };
  const place = issuerKeys(statement['tenant_ref'] as string, statement['issuer_sha256'] as string);
  rows.put(`exports/${place}${statement['key_thumbprint'] as string}`, row as JsonObject);
}

function projectStatement({ index, statement }: Sequenced, rows: RowWriter): void {
  const row = statementRow(
    statement['tenant_ref'] as string,
    statement['statement_sha256'] as string,
  );
  rows.put(`exports/${row}`, index);
}

/** `exports.issuer.v1`. */
export const issuerType: EntryType = {
  name: ISSUER,
  schema: asSchema(IssuerMembers),
  keys: [['exports.issuer', 'issuer_sha256']],
  sentence: sentenceOf<Static<typeof IssuerMembers>>(({ status, algorithm, issuer_sha256 }) => {
    const did = status === 'active' ? 'registered' : 'revoked';
    return `The tenant ${did} a key for ${algorithm} of the issuer with the SHA-256 ${shortName(issuer_sha256)}.`;
  }),
  project: projectIssuer,
};

/** `exports.statement.v1`. Each statement has a chain, so that anyone can look up whether it was registered. */
export const statementType: EntryType = {
  name: STATEMENT,
  schema: asSchema(StatementMembers),
  keys: [
    ['exports.statement', 'statement_sha256'],
    ['exports.issuer', 'issuer_sha256'],
  ],
  sentence: sentenceOf<Static<typeof StatementMembers>>(
    ({ statement_sha256, issuer_sha256 }) =>
      `The tenant registered the statement ${shortName(statement_sha256)}, signed by a key of the issuer with the SHA-256 ${shortName(issuer_sha256)}.`,
  ),
  project: projectStatement,
};

/** `exports.carried.v1`. */
export const carried = carriedType('exports', {
  issuer: carriedKind(IssuerMembers, ({ value, tenant_ref, rests_on }, rows) => {
    const { issuer_sha256, key_thumbprint, ...key } = value;
    const { index, log_number } = rests_on;
    const place = issuerKeys(tenant_ref, issuer_sha256) + key_thumbprint;
    rows.put(`exports/${place}`, { index, log_number, ...key });
  }),
});

/** The `carry` hook of the plugin. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  const prefix = 'issuer/';
  for await (const [row, found] of eachRow(closed, prefix)) {
    const { index, log_number, algorithm, public_key, status } = found as unknown as IssuerRow;
    const [tenant_ref = '', issuer_sha256 = '', key_thumbprint = ''] = row
      .slice(prefix.length)
      .split('/');
    const value = { issuer_sha256, key_thumbprint, algorithm, public_key, status };
    yield { what: 'issuer', row, tenant_ref, value, index, log_number };
  }
}
