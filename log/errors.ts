// The one error class of the core, with a closed union of codes. Messages are lower case and name the limit.

/** What went wrong, stable across versions; the gateway maps each to a status in one table. */
export type LogErrorCode =
  | 'json_invalid' // text is not strict JSON, or not of the accepted form
  | 'encoding_invalid' // hex, base64 or a fixed-size value is not in its canonical spelling
  | 'entry_too_large' // over 65,535 bytes
  | 'entry_invalid' // a statement or entry breaks a rule of the format
  | 'key_invalid' // a chain key, receipt key or verifier key is not well formed
  | 'key_lost' // the file of a private key is gone, and nothing can be opened without it
  | 'note_invalid' // a signed note does not open
  | 'proof_invalid' // a proof does not prove what it claims
  | 'document_invalid' // an absence document is malformed or unproven
  | 'question_unanswered' // an absence document is valid, but does not answer the question
  | 'policy_invalid' // a witness policy does not parse
  | 'out_of_range' // an index, size or page that does not exist
  | 'not_found'
  | 'type_undeclared'
  | 'type_conflict' // a type is declared already, with another schema
  | 'tenant_unknown'
  | 'entity_forbidden' // the entity belongs to another tenant
  | 'entity_unclaimed'
  | 'links_exceeded' // more than 8 links
  | 'event_time_out_of_range'
  | 'window_not_closed'
  | 'log_closed'
  | 'log_busy' // the pool is full
  | 'not_leader' // this node of a cluster follows another one, which takes the writes
  | 'lease_lost' // another node of the cluster has taken the lease
  | 'rounds_lost' // the database of the cluster lacks rounds that this node has applied
  | 'log_unavailable' // the store refuses writes at the moment
  | 'log_read_only' // a private key of the log is lost: only the operator can change that
  | 'log_locked' // another process holds the data folder
  | 'log_rolled_back' // the database is behind the checkpoint register
  | 'data_not_adopted' // the data folder is a copy, or its checkpoint register is missing
  | 'plugin_failed' // a plugin's rule failed on an entry that would have been appended
  | 'clock_untrusted' // the wall clock jumped, or differs from an independent clock
  | 'store_corrupt';

/** The brand of errors of the core. It is registered, so that every copy of this package has the same one. */
const BRAND = Symbol.for('actlog.LogError');

/** An expected failure of the core. Anything else that is thrown is a defect. */
export class LogError extends Error {
  override readonly name = 'LogError';
  readonly [BRAND] = true;
  readonly code: LogErrorCode;

  constructor(code: LogErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Whether a thrown value is a LogError, of this copy of the package or of another one, such as a plugin's own. */
export const isLogError = (thrown: unknown): thrown is LogError =>
  thrown instanceof Error && BRAND in thrown;
