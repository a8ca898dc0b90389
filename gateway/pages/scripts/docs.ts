// /docs/{operation}: sends the request that the form describes to this service, with a sandbox key only.

import { addCopying, byId, make } from '../../../plugins/contract/page.ts';

const KEY_AT = 'actlog:sandbox-key';
const SANDBOX = 'svc_sandbox_';

const form = byId('try', HTMLFormElement);
const key = byId('key', HTMLInputElement);
const answer = byId('answer', HTMLElement);

key.value = sessionStorage.getItem(KEY_AT) ?? '';
addCopying();

/** Opens the table that the address names: a link in another table leads there. */
function openNamed(): void {
  const named = document.getElementById(location.hash.slice(1));
  if (named instanceof HTMLDetailsElement) named.open = true;
}
addEventListener('hashchange', openNamed);
openNamed();

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void send();
});

async function send(): Promise<void> {
  const { method = 'GET', path = '/' } = form.dataset;
  const held = key.value.trim();
  if (held === '' ? method !== 'GET' : !held.startsWith(SANDBOX)) {
    say(
      'Not sent',
      `What is sent from here goes to the sandbox: give a key that begins with ${SANDBOX}.`,
    );
    return;
  }
  sessionStorage.setItem(KEY_AT, held);
  const body = document.getElementById('body');
  try {
    const response = await fetch(addressOf(path), {
      method,
      headers: {
        ...(held === '' ? {} : { 'X-API-Key': held }),
        ...(method === 'POST' ? { 'Content-Type': 'application/json' } : {}),
      },
      ...(body instanceof HTMLTextAreaElement && body.value !== '' ? { body: body.value } : {}),
    });
    const said = await response.text();
    say(`${String(response.status)} ${response.headers.get('content-type') ?? ''}`, readable(said));
  } catch (error) {
    say('No answer', String(error));
  }
}

function addressOf(path: string): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const field of form.querySelectorAll<HTMLInputElement>('[data-field]')) {
    const { field: name = '', place } = field.dataset;
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(field.value));
    else if (field.value !== '') query.set(name, field.value);
  }
  const search = query.toString();
  return search === '' ? filled : `${filled}?${search}`;
}

function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function say(title: string, text: string): void {
  const code = make('code', {}, text);
  answer.replaceChildren(make('h3', {}, title), make('pre', { tabindex: '0' }, code));
}
