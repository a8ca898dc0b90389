// /ask: fills in the reader's time zone, and checks the document of an answer in the browser, with the keys of the
// offline kit. The page works without this script.

import {
  addCopying,
  ask,
  askText,
  busy,
  byId,
  trustIn,
  verifyAbsence,
} from '../../contract/page.ts';
import type { Json, JsonObject } from '../../contract/page.ts';

const answer = document.getElementById('answer');
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

// A question without a zone is about the reader's own.
if (!new URL(location.href).searchParams.has('tz')) {
  byId('tz', HTMLInputElement).value = zone;
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-when]')) {
    const url = new URL(link.href);
    url.searchParams.set('tz', zone);
    link.href = url.pathname + url.search;
  }
}

/** Sets the line about the check. */
function say(text: string, style: string): void {
  const line = byId('checked', HTMLParagraphElement);
  line.className = style;
  line.textContent = text;
}

const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

/** Whether the question of a document lies in the question of the page. */
function isAsked(question: JsonObject, asked: DOMStringMap): boolean {
  const key = JSON.stringify(['surface', asked['entity'], asked['surface']]);
  return (
    JSON.stringify(question.key) === key &&
    Number(question.from_ms) >= Number(asked['from']) &&
    Number(question.to_ms) <= Number(asked['to'])
  );
}

/** Checks every document of the answer, and that they cover its window. */
async function check(place: HTMLElement): Promise<void> {
  const asked = place.dataset;
  const got = objectOf(await ask<Json>(asked['document'] ?? ''));
  const documents = (got.witnesses ?? [got.witness ?? null]) as readonly Json[];
  const verdicts: string[] = [];
  for (const one of documents) {
    const shown = objectOf(one);
    const { checkpoint } = shown;
    const question = objectOf(shown.question);
    if (!isAsked(question, asked)) throw new Error('the document answers another question');
    const { key, from_ms, to_ms } = question as unknown as Parameters<typeof verifyAbsence>[1];
    const [origin = ''] = (typeof checkpoint === 'string' ? checkpoint : '').split('\n', 1);
    const { verdict } = verifyAbsence(one, { key, from_ms, to_ms }, await trustIn(origin));
    verdicts.push(verdict);
  }
  const same = verdicts.includes(asked['verdict'] ?? '');
  if (!same) throw new Error(`the document says ${verdicts.join(', ')}`);
  say(
    'Checked by this browser: the proof holds, with the keys that the service publishes.',
    'good-word',
  );
  place.dataset['checked'] = 'true';
}

if (answer?.dataset['document'] !== undefined) {
  const place = answer;
  const path = answer.dataset['document'];
  check(place).catch((error: unknown) => {
    place.dataset['checked'] = 'false';
    const reason = error instanceof Error ? error.message : 'it could not be read';
    say(`This browser could not confirm the answer: ${reason}. Do not rely on it.`, 'bad-word');
  });
  const save = byId('save', HTMLButtonElement);
  save.addEventListener('click', () => {
    void busy([save], async () => {
      const url = URL.createObjectURL(
        new Blob([await askText(path)], { type: 'application/json' }),
      );
      const link = document.createElement('a');
      link.href = url;
      link.download = 'proof.json';
      link.click();
      URL.revokeObjectURL(url);
    });
  });
  byId('print', HTMLButtonElement).addEventListener('click', () => print());
  addCopying();
}
