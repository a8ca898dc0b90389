// The badge: drawn only for a run in which all five checks passed, with its date. gateway/API.md §8.2.

/** What the badge says. */
export const BADGE = 'RR-1 conformant';

/** The badge as SVG, of a run that passed at this time (milliseconds of UTC). */
export function badgeSvg(checked_at_ms: number): string {
  const date = new Date(checked_at_ms).toISOString().slice(0, 10);
  const title = `${BADGE}, checked ${date}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="214" height="20" role="img" aria-label="${title}">
<title>${title}</title>
<rect width="214" height="20" rx="3" fill="#333"/>
<path d="M112 0h99a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-99z" fill="#2a6b3f"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="56" y="14">${BADGE}</text>
<text x="163" y="14">${date}</text>
</g>
</svg>
`;
}
