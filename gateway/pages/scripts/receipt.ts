// /r/{entry_id}: shows times in the reader's zone beside UTC, and makes the buttons to copy and to print work.

import { addCopying } from '../../../plugins/contract/page.ts';

const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'long', timeStyle: 'long' });
for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-local]')) {
  time.textContent = `${local.format(new Date(time.dateTime))} (${time.textContent})`;
}

addCopying();
for (const button of document.querySelectorAll<HTMLButtonElement>('[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}
