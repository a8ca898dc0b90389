// The JSON values of the formats. Numbers are safe integers wherever a statement or proof is meant.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: Json;
}
