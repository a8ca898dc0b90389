// The badge of a receipt, for pages that link to it: whether the entry is signed and in the log, and its outcome.
// gateway/API.md §1.4.

import { escapeHtml } from '../pages/markdown.ts';

/** What a badge says. */
export interface Badge {
  readonly signed: boolean;
  readonly included: boolean;
  readonly sandbox: boolean;
  readonly index: number;
  readonly outcome: string | null;
}

const CHAR = 6.8;
const PAD = 8;
const LABEL = 'actlog';

/** The right half of the badge in words. */
export function badgeWords({ signed, included, sandbox, index, outcome }: Badge): string {
  const state = !signed ? 'not valid' : included ? `entry ${index} in the log` : 'signed';
  const said = outcome === null ? '' : `${outcome.slice(0, 24)}, `;
  return `${sandbox ? 'SANDBOX: ' : ''}${said}${state}`;
}

/** The badge as SVG, 20 pixels high. */
export function badgeSvg(badge: Badge): string {
  const words = badgeWords(badge);
  const title = escapeHtml(`${LABEL}: ${words}`);
  const left = Math.round(LABEL.length * CHAR + 2 * PAD);
  const right = Math.round(words.length * CHAR + 2 * PAD);
  const width = left + right;
  const fill = !badge.signed ? '#a3231c' : badge.sandbox || !badge.included ? '#7a5200' : '#0b6b3a';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="20" role="img" aria-label="${title}">
<title>${title}</title>
<rect width="${width}" height="20" rx="3" fill="#333"/>
<path d="M${left} 0h${right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-${right - 3}z" fill="${fill}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="${left / 2}" y="14">${LABEL}</text>
<text x="${left + right / 2}" y="14">${escapeHtml(words)}</text>
</g>
</svg>
`;
}
