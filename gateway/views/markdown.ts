// The part of Markdown that this project's own texts use, as HTML: headings, paragraphs, lists, tables, code. Texts
// come from catalogs/ and from declarations, never from callers; all of them are escaped nevertheless.

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => ESCAPES[char] ?? '');

/** One line: code between backticks, strong and emphasis outside of it. */
export function inlineMarkdown(text: string): string {
  return text
    .split('`')
    .map((part, i) =>
      i % 2 === 1
        ? `<code>${escaped(part)}</code>`
        : escaped(part)
            .replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
            .replace(/(^|\W)_(.+?)_(?=\W|$)/g, '$1<em>$2</em>'),
    )
    .join('');
}

/** A whole text. A block that is indented by four spaces is code. */
export function markdown(text: string): string {
  const html: string[] = [];
  let open = '';
  const within = (tag: string): void => {
    if (tag === open) return;
    if (open !== '') html.push(`</${open}>`);
    if (tag !== '') html.push(`<${tag}>`);
    open = tag;
  };
  for (const block of text.trim().split(/\n{2,}/)) {
    const lines = block.split('\n');
    const [first = ''] = lines;
    const heading = /^(#{1,4}) (.+)$/.exec(first);
    const list = /^(?:[-*]|\d+\.) /.test(first) ? (/^\d/.test(first) ? 'ol' : 'ul') : '';
    within(list);
    if (heading !== null) {
      const level = String(heading[1]?.length ?? 1);
      html.push(`<h${level}>${inlineMarkdown(heading[2] ?? '')}</h${level}>`);
    } else if (list !== '') {
      for (const item of block.split(/\n(?=(?:[-*]|\d+\.) )/)) {
        const said = item.replace(/^(?:[-*]|\d+\.) /, '').replace(/\n\s*/g, ' ');
        html.push(`<li>${inlineMarkdown(said)}</li>`);
      }
    } else if (lines.every((line) => line.startsWith('    '))) {
      const code = lines.map((line) => line.slice(4)).join('\n');
      html.push(`<pre tabindex="0"><code>${escaped(code)}</code></pre>`);
    } else if (first.startsWith('|')) {
      html.push(table(lines));
    } else {
      html.push(`<p>${inlineMarkdown(lines.join(' '))}</p>`);
    }
  }
  within('');
  return html.join('\n');
}

function table([head = '', , ...rows]: readonly string[]): string {
  const cells = (line: string): string[] =>
    line
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => inlineMarkdown(cell.trim()));
  const names = cells(head).map((cell) =>
    cell === '' ? '<td></td>' : `<th scope="col">${cell}</th>`,
  );
  const body = rows.map((row) => {
    const [first = '', ...rest] = cells(row);
    return `<tr><th scope="row">${first}</th>${rest.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
  });
  return `<table><thead><tr>${names.join('')}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}
