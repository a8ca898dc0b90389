// /broker-relay: a partner of the sandbox, its tracked links, and what was counted.

import {
  ask,
  byId,
  field,
  isRefused,
  make,
  onSubmit,
  say,
  showReceipt,
} from '../../contract/page.ts';
import type { Receipt } from '../../contract/page.ts';

const WAIT_S = 20;
const enroll = byId('enroll', HTMLFormElement);
const lookup = byId('lookup', HTMLFormElement);
const receipts = byId('receipts', HTMLDivElement);

interface Status {
  readonly partner: string;
  readonly visits: number;
  readonly links: readonly { target: string; path: string; url: string; visits: number }[];
}

async function statusOf(slug: string): Promise<Status> {
  const path = `/go/${encodeURIComponent(slug)}/status`;
  try {
    return await ask<Status>(path);
  } catch (error) {
    if (!isRefused(error) || error.status !== 404) throw error;
    return ask<Status>(`${path}?log=sandbox`);
  }
}

function shown({ partner, visits, links }: Status): void {
  byId('links-title', HTMLHeadingElement).textContent = `Links of ${partner}`;
  byId('tracked', HTMLTableSectionElement).replaceChildren(
    ...links.map(({ path, url, visits: counted }) =>
      make(
        'tr',
        {},
        make('th', { scope: 'row' }, path),
        make('td', {}, make('a', { href: here(url) }, url)),
        make('td', { class: 'number' }, String(counted)),
      ),
    ),
  );
  byId('links', HTMLElement).hidden = false;
  say(`${partner}: ${String(visits)} visits so far.`);
}

/** The address of a link at this service, wherever it is reached. */
function here(url: string): string {
  const { pathname, search } = new URL(url, location.href);
  return pathname + search;
}

onSubmit(enroll, async () => {
  say('Enrolling …');
  const body = { partner: `Demo ${field(enroll, 'partner')}` };
  const answer = await ask('/demo/calls/partner', { body, wait: WAIT_S });
  await showReceipt(receipts, 'Enrollment', answer['receipt'] as Receipt);
  shown(await statusOf(String(answer['slug'])));
  byId('links-title', HTMLHeadingElement).focus();
});

onSubmit(lookup, async () => {
  say('Looking …');
  receipts.replaceChildren();
  shown(await statusOf(field(lookup, 'slug')));
});
