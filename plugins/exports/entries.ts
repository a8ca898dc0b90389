// The entries of registration: an issuer's key that a tenant makes known, and a statement of that issuer that the log
// registers. The log holds hashes; names are commitments. RFC 9943 (SCITT): the policy that decides, keys known to the
// tenant, stands in the log itself.

import { Type } from 'typebox';
import type { CarriedPlace, EntryType, JsonObject, RowWriter, Sequenced } from '../contract.ts';
import { asSchema, Hex32 } from '../contract.ts';

/** Name of the entry type of an issuer's key. */
export const ISSUER = 'exports.issuer.v1';
/** Name of the entry type of a registered statement. */
export const STATEMENT = 'exports.statement.v1';

/** What an issuer entry says; `issuer` itself is a commitment. */
export const IssuerMembers = Type.Object(
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

/** What a registration says; subject and content type are commitments. */
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

/** A tenant's issuer key, as its row has it. */
export interface IssuerRow extends CarriedPlace {
  readonly algorithm: 'ES256' | 'Ed25519';
  readonly public_key: string;
  readonly status: 'active' | 'revoked';
}

/** Prefix of the keys of an issuer, as the plugin reads it; the thumbprint follows. */
export const issuerKeys = (tenant_ref: string, issuer_sha256: string): string =>
  `issuer/${tenant_ref}/${issuer_sha256}/`;
/** Row of a registered statement: its index. */
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
  project: projectIssuer,
};

/** `exports.statement.v1`; on a chain of its own, so that anyone can ask whether a statement was registered. */
export const statementType: EntryType = {
  name: STATEMENT,
  schema: asSchema(StatementMembers),
  keys: [
    ['exports.statement', 'statement_sha256'],
    ['exports.issuer', 'issuer_sha256'],
  ],
  project: projectStatement,
};
