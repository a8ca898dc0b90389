// /status: asks for the state again while the page is open, so that it is never an old one.

import { texts } from '../../../plugins/contract/page.ts';

const EVERY_MS = 15_000;

async function look(): Promise<void> {
  const answer = await fetch('/status.json', { headers: { accept: 'application/json' } });
  const { status, components, page } = (await answer.json()) as {
    status: { description: string };
    components: { id: string; status: string }[];
    page: { updated_at: string };
  };
  texts('[data-status]', status.description);
  texts('[data-updated]', page.updated_at);
  for (const { id, status: state } of components) {
    texts(`[data-component="${CSS.escape(id)}"]`, state.replaceAll('_', ' '));
  }
}

setInterval(() => {
  if (!document.hidden) look().catch(() => texts('[data-status]', 'The service does not answer'));
}, EVERY_MS);
