// /r/{entry_id}: shows times in the reader's zone beside UTC, and makes the buttons to copy and to print work.

const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'long', timeStyle: 'long' });
for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-local]')) {
  time.textContent = `${local.format(new Date(time.dateTime))} (${time.textContent})`;
}

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', () => {
    const { copy = '' } = button.dataset;
    const from = copy.startsWith('#') ? document.querySelector(copy)?.textContent : copy;
    void navigator.clipboard.writeText(from ?? '').then(
      () => (button.textContent = 'Copied'),
      () => (button.textContent = 'This browser does not allow it'),
    );
  });
}
for (const button of document.querySelectorAll<HTMLButtonElement>('[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}
