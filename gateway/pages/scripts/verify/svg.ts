// Pictures made by DOM calls: texts become text, never markup, and the strict policy of pages holds.

const NAMESPACE = 'http://www.w3.org/2000/svg';

/** A new SVG element with attributes and children. */
export function draw(
  tag: string,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: readonly (Node | string)[]
): SVGElement {
  const element: SVGElement = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}
