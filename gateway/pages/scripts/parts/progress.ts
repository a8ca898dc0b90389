// What a page is doing, in its line `#progress`, which screen readers follow.

import { byId } from './dom.ts';

/** Says what is going on. */
export function say(text: string, style: 'hint' | 'bad-word' = 'hint'): void {
  const line = byId('progress', HTMLParagraphElement);
  line.className = style;
  line.textContent = text;
}

/** Runs an act of the page with its buttons off; a refusal is told in the service's words. */
export async function busy(buttons: Iterable<HTMLButtonElement>, act: () => Promise<void>) {
  const held = [...buttons].filter((button) => !button.disabled);
  for (const button of held) button.disabled = true;
  try {
    await act();
  } catch (error) {
    say(error instanceof Error ? error.message : 'Something went wrong.', 'bad-word');
  } finally {
    for (const button of held) button.disabled = false;
  }
}

/** Calls `act` with the form's button when it is sent, and keeps the page. */
export function onSubmit(form: HTMLFormElement, act: (by: string) => Promise<void>): void {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const by = event.submitter instanceof HTMLButtonElement ? event.submitter.value : '';
    void busy(form.querySelectorAll('button'), () => act(by));
  });
}

/** The value of a field of a form. */
export function field(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
}
