// /log: asks for the page again while it is open, and puts what is new in place. The page itself is whole without.

const EVERY_MS = 5000;

async function look(): Promise<void> {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const part of document.querySelectorAll<HTMLElement>('[data-live]')) {
    const name = CSS.escape(part.dataset['live'] ?? '');
    const newer = fresh.querySelector(`[data-live="${name}"]`);
    // What a reader is in, or has opened, stays as it is.
    const busy = part.contains(document.activeElement) || part.querySelector('[open]') !== null;
    if (newer !== null && !busy && newer.innerHTML !== part.innerHTML) {
      part.replaceChildren(...newer.childNodes);
    }
  }
}

setInterval(() => {
  if (!document.hidden) look().catch(() => undefined);
}, EVERY_MS);
