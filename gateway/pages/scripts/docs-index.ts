// /docs: shows the operations that have all the words of the search. The page lists all of them without this script.

import { byId, texts } from '../../../plugins/contract/page.ts';

const words = byId('words', HTMLInputElement);
byId('find', HTMLDivElement).hidden = false;

function find(): void {
  const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const group of document.querySelectorAll<HTMLElement>('[data-group]')) {
    let some = false;
    for (const item of group.querySelectorAll('li')) {
      const text = item.textContent.toLowerCase();
      const shown = asked.every((word) => text.includes(word));
      item.hidden = !shown;
      some ||= shown;
      if (shown) count += 1;
    }
    group.hidden = !some;
    const folded = group.querySelector('details');
    if (folded !== null) folded.open = asked.length > 0;
  }
  texts('#found', asked.length === 0 ? '' : `${String(count)} operations`);
}

words.addEventListener('input', find);
