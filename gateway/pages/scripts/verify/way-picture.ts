// The way from an entry's leaf up to the root as a picture: each level with the sibling that the proof brings and the
// node that both make. Each hash can be opened. RFC 9162 §2.1.3.

import { fromHex, toBase64 } from '../../../../log/verify.ts';
import type { Way } from '../../../../log/verify.ts';
import { make } from '../../../../plugins/contract/page.ts';
import { draw } from './svg.ts';

const WIDTH = 340;
const LEVEL = 58;
const BOX = { width: 132, height: 30 };

interface Node_ {
  /** Hex; of the root base64, as checkpoints have it. */
  readonly hash: string;
  readonly what: string;
  readonly how: string;
  readonly x: number;
  readonly y: number;
  readonly role: 'leaf' | 'node' | 'sibling' | 'root';
}

/** The picture, and below it a place for the hash that the reader opens. */
export function wayPicture({ index, size, leaf, steps }: Way): HTMLElement {
  const opened = make('output', { class: 'opened' }, 'Choose a hash to see all of it.');
  const count = steps.length;
  const height = steps.length * LEVEL + BOX.height + 16;
  const title = `Entry ${String(index)} and its way of ${String(steps.length)} levels to the root of ${String(size)} entries`;
  const svg = draw('svg', {
    class: 'way',
    viewBox: `0 0 ${String(WIDTH)} ${String(height)}`,
    role: 'group',
    'aria-label': title,
  });
  const yOf = (level: number): number => height - 8 - BOX.height - level * LEVEL;
  // The leaf is drawn on its own side of the pair, and its sibling on the other side.
  const xOf = (left: boolean): number => (left ? 4 : WIDTH - 4 - BOX.width);
  const textAt = (level: number, hash: string): string =>
    level === count ? toBase64(fromHex(hash)) : hash;
  const nodes: Node_[] = [];
  const lines: SVGElement[] = [];
  for (let level = 0; level <= count; level++) {
    const step = steps[level];
    const hash = level === 0 ? leaf : (steps[level - 1]?.node ?? leaf);
    const y = yOf(level);
    const x = step === undefined ? (WIDTH - BOX.width) / 2 : xOf(!step.left);
    const role = level === count ? 'root' : level === 0 ? 'leaf' : 'node';
    nodes.push({ hash: textAt(level, hash), role, x, y, ...wordsOf(role, level, index, size) });
    if (step === undefined) continue;
    const siblingX = xOf(step.left);
    nodes.push({
      hash: step.sibling,
      what: `Sibling at level ${String(level)}, on the ${step.left ? 'left' : 'right'}`,
      how: 'Given by the proof.',
      x: siblingX,
      y,
      role: 'sibling',
    });
    const above = steps[level + 1];
    const parentX = above === undefined ? (WIDTH - BOX.width) / 2 : xOf(!above.left);
    for (const from of [x, siblingX]) lines.push(edge(from, y, parentX, yOf(level + 1)));
  }
  svg.append(...lines, ...nodes.map((node) => box(node, opened)));
  const caption = `${title}. Filled boxes are computed here, the others are the proof.`;
  return make(
    'figure',
    { class: 'way-figure' },
    svg,
    make('figcaption', {}, make('p', { class: 'hint' }, caption), opened),
  );
}

function wordsOf(
  role: string,
  level: number,
  index: number,
  size: number,
): { readonly what: string; readonly how: string } {
  const pair = 'SHA-256 of the byte 01, the left hash and the right hash below.';
  if (role === 'leaf') {
    return {
      what: `Leaf of entry ${String(index)}`,
      how: 'SHA-256 of the byte 00 and the bytes of the entry.',
    };
  }
  return role === 'root'
    ? {
        what: `Root of ${String(size)} entries`,
        how:
          level === 0
            ? 'The only leaf is the root.'
            : `${pair} It is the root that the log signed, in base64 as in the checkpoint.`,
      }
    : { what: `Node at level ${String(level)}`, how: pair };
}

function edge(fromX: number, fromY: number, toX: number, toY: number): SVGElement {
  const middle = BOX.width / 2;
  return draw('line', {
    x1: fromX + middle,
    y1: fromY,
    x2: toX + middle,
    y2: toY + BOX.height,
    class: 'edge',
  });
}

function box({ hash, what, how, x, y, role }: Node_, opened: HTMLElement): SVGElement {
  const group = draw(
    'g',
    {
      class: `hash-box ${role}`,
      role: 'button',
      tabindex: 0,
      'aria-label': `${hash.slice(0, 12)} ${what}`,
    },
    draw('rect', { x, y, rx: 5, ...BOX }),
    draw('text', { x: x + BOX.width / 2, y: y + 20, 'text-anchor': 'middle' }, hash.slice(0, 12)),
  );
  const open = (): void => {
    opened.replaceChildren(make('strong', {}, what), make('code', { class: 'hash' }, hash), how);
  };
  group.addEventListener('click', open);
  group.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    open();
  });
  return group;
}
