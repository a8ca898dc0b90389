// /sw.js: keeps the page /verify and what it loads, so that it opens without a connection. It answers for nothing else:
// documents, keys and proofs are never kept here.
//
// With a connection the page comes from the service each time, and what it names is kept anew. Without one, or after
// three seconds, the kept page is shown.

/** The events of a service worker that this script uses; the DOM's types describe windows only. */
interface Worker {
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(kind: 'install' | 'activate', act: (event: Life) => void): void;
  addEventListener(kind: 'fetch', act: (event: Fetched) => void): void;
}
interface Life {
  waitUntil(done: Promise<unknown>): void;
}
interface Fetched extends Life {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}

const worker = self as unknown as Worker; // the global of a service worker
const CACHE = 'actlog-verify';
const PAGE = '/verify';
const PATIENCE_MS = 3000;

/** Fetches the page and keeps it, together with the files that it names and this cache does not have. */
async function renew(): Promise<Response> {
  const answer = await fetch(PAGE, { headers: { accept: 'text/html' } });
  if (!answer.ok) return answer;
  const cache = await caches.open(CACHE);
  const html = await answer.clone().text();
  // A page may name a file twice, and addAll takes no request twice.
  const urls = [...html.matchAll(/(?:href|src|data-more)="(\/static\/[^"]+)"/g)].map(
    ([, url = '']) => url,
  );
  const named = [...new Set(urls)];
  const kept = (await cache.keys()).map(({ url }) => new URL(url));
  await cache.addAll(named.filter((url) => !kept.some((one) => one.pathname + one.search === url)));
  await cache.put(PAGE, answer.clone());
  for (const { pathname, search } of kept) {
    const known = pathname === PAGE || named.includes(pathname + search);
    if (!known) await cache.delete(pathname + search);
  }
  return answer;
}

async function page(renewed: Promise<Response>): Promise<Response> {
  const kept = await (await caches.open(CACHE)).match(PAGE);
  if (kept === undefined) return renewed;
  const late = new Promise<Response>((resolve) => setTimeout(() => resolve(kept), PATIENCE_MS));
  return Promise.race([renewed.catch(() => kept), late]);
}

async function file(request: Request): Promise<Response> {
  return (await (await caches.open(CACHE)).match(request)) ?? fetch(request);
}

worker.addEventListener('install', (event) => {
  event.waitUntil(renew().then(() => worker.skipWaiting()));
});
worker.addEventListener('activate', (event) => {
  event.waitUntil(worker.clients.claim());
});
worker.addEventListener('fetch', (event) => {
  const { request } = event;
  const { pathname } = new URL(request.url);
  if (request.mode === 'navigate' && pathname === PAGE) {
    const renewed = renew();
    event.waitUntil(renewed.catch(() => undefined));
    event.respondWith(page(renewed));
  } else if (request.method === 'GET' && pathname.startsWith('/static/')) {
    event.respondWith(file(request));
  }
});

export {};
