// What the configuration allows a request, as far as plugins' schemas and rules ask. gateway/API.md §4.2.

/** Limits of the configuration that a plugin's schemas and rules use (gateway/API.md §4.2). */
export interface Limits {
  /** Longest message that is classified, in UTF-8. */
  readonly message_bytes: number;
  /** Longest string that names something: `maxLength` of such members. */
  readonly string_chars: number;
  /** Largest object of a caller, as canonical JSON. */
  readonly metadata_bytes: number;
  readonly page_default: number;
  readonly page_max: number;
}
