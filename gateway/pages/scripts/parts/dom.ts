// What the scripts of pages share. Values become text, never markup.

/** Sets the text of every element that matches. */
export function texts(selector: string, text: string): void {
  for (const element of document.querySelectorAll(selector)) element.textContent = text;
}

/** The element of this id and kind, `byId('text', HTMLTextAreaElement)`; a page without it is a mistake. */
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page has no #${id} of this kind`);
  return element;
}

/** A new element with attributes and children; texts are escaped by the DOM itself. */
export function make(
  tag: string,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
