// A key and a statement that anyone may try registration with: the key of RFC 8037, appendix A, whose private part is
// public. Who makes it known in earnest lets anyone register statements of this issuer.

/** Claim iss of the statement. */
export const EXAMPLE_ISSUER = 'https://issuer.example';

/** RFC 8037 §A.2. */
export const EXAMPLE_JWK = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
} as const;

/** A COSE_Sign1 in base64: payload `an example`, subject `urn:example:statement:1`. */
export const EXAMPLE_STATEMENT =
  '0oRYQqMBMgNqdGV4dC9wbGFpbg+iAXZodHRwczovL2lzc3Vlci5leGFtcGxlAnd1cm46ZXhhbXBsZTpzdGF0' +
  'ZW1lbnQ6MaBKYW4gZXhhbXBsZVhAWN5PlJrB5SRVGL9GgcurqDRBwj64rdGPns9azQH9dLsdwe7ric5eLWJv' +
  '+jxisyzBJdC23pbbrWDGT1UCMmVsAA==';
