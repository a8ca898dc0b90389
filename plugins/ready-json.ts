// A part of an answer whose JSON text stands already: a document that was printed for its hash is not printed
// again to be sent.

import type { JsonObject } from '../log/index.ts';

/**
 * An object of an answer: the members of one that is text already, and after them `more`. It may stand anywhere in
 * an answer; as a member of the answer itself it goes out as the text that it is.
 */
export class ReadyJson {
  // Not members that a spread would take into an answer.
  readonly #text: string;
  readonly #more: object;

  constructor(text: string, more: object) {
    this.#text = text;
    this.#more = more;
  }

  /** JSON of an object with at least one member. */
  get text(): string {
    return this.#text;
  }

  get more(): object {
    return this.#more;
  }

  /** Where the text cannot be taken over as it is. */
  toJSON(): object {
    return Object.assign(JSON.parse(this.text) as JsonObject, this.more);
  }
}
