// The part of Markdown that the documents of this project use, as HTML: headings, paragraphs, nested lists, tables,
// code, links. The texts are documents and declarations of this project, never of callers; every character of them is
// escaped nevertheless, and HTML in them is text.

/** How a document's own names become links. */
export interface MarkdownOptions {
  /** The address of a link's target, or null for a target that is no address here: its text then stands alone. */
  readonly address?: (target: string) => string | null;
  /** HTML for a piece of text outside of code and links; it is escaped already. */
  readonly text?: (escaped: string) => string;
  /** Whether headings get an id, made of their words. */
  readonly ids?: boolean;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => ESCAPES[char] ?? '');

const ITEM = /^([-*]|\d+\.) +/;
const FENCE = /^```([a-z]*)$/;
const HEADING = /^(#{1,6}) (.+)$/;
const COMMENT = /^<!--.*-->$/;
const LINK = /!?\[([^\]]+)\]\(([^\s)]+)\)/;

/** The id of a heading: its words in lower case with hyphens between them, as GitHub has them in a fragment. */
export function headingId(heading: string): string {
  const words = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '');
  return idOf(words.trim().replace(/\s/g, '-'));
}

/** The id that a fragment of GitHub's means: ours begin with a letter, those of numbered headings with `s`. */
export const idOf = (fragment: string): string => fragment.replace(/^(?=\d)/, 's');

/** One line: code between backticks; links, strong and emphasis outside of it. */
export function inlineMarkdown(text: string, options: MarkdownOptions = {}): string {
  return text
    .split(/(`[^`]+`)/)
    .map((part, i) =>
      i % 2 === 1 ? `<code>${escaped(part.slice(1, -1))}</code>` : linked(part, options),
    )
    .join('');
}

/** A link's text may hold code, which stands in other parts by then: such links are not used. */
function linked(text: string, options: MarkdownOptions): string {
  const link = LINK.exec(text);
  if (link === null) return emphasised(text, options);
  const [whole, words = '', target = ''] = link;
  const address = options.address?.(target) ?? null;
  const shown = emphasised(words, { ...options, text: (one) => one });
  return (
    emphasised(text.slice(0, link.index), options) +
    (address === null || whole.startsWith('!')
      ? shown
      : `<a href="${escaped(address)}">${shown}</a>`) +
    linked(text.slice(link.index + whole.length), options)
  );
}

function emphasised(text: string, { text: marked }: MarkdownOptions): string {
  const html = escaped(text)
    .replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
    .replace(/(^|\W)([_*])(.+?)\2(?=\W|$)/g, '$1<em>$3</em>');
  return marked === undefined ? html : marked(html);
}

/** A whole text. Lines that are indented by four spaces, or between two lines of three backticks, are code. */
export function markdown(text: string, options: MarkdownOptions = {}): string {
  const lines = text.split('\n');
  const html: string[] = [];
  const paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length > 0) html.push(`<p>${inlineMarkdown(paragraph.join(' '), options)}</p>`);
    paragraph.length = 0;
  };
  /** Takes the lines from `at` on for which the condition holds; answers where they end. */
  const whileLines = (at: number, holds: (line: string) => boolean): number => {
    let end = at;
    while (end < lines.length && holds(lines[end] ?? '')) end += 1;
    return end;
  };
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const heading = HEADING.exec(line);
    let end = at + 1;
    if (line.trim() === '' || COMMENT.test(line)) {
      endParagraph();
    } else if (FENCE.test(line)) {
      endParagraph();
      const close = whileLines(at + 1, (one) => one !== '```');
      html.push(codeBlock(lines.slice(at + 1, close)));
      end = close + 1;
    } else if (heading !== null) {
      endParagraph();
      html.push(headingOf(heading[1]?.length ?? 1, heading[2] ?? '', options));
    } else if (line.startsWith('|')) {
      endParagraph();
      end = whileLines(at, (one) => one.startsWith('|'));
      html.push(table(lines.slice(at, end), options));
    } else if (ITEM.test(line)) {
      endParagraph();
      end = whileLines(at, (one) => one === '' || one.startsWith('  ') || ITEM.test(one));
      html.push(list(lines.slice(at, end), options));
    } else if (paragraph.length === 0 && line.startsWith('    ')) {
      end = whileLines(at, (one) => one.startsWith('    ') || one === '');
      const code = lines.slice(at, end).map((one) => one.slice(4));
      html.push(codeBlock(code.join('\n').trimEnd().split('\n')));
    } else {
      paragraph.push(line.trim());
    }
    at = end;
  }
  endParagraph();
  return html.join('\n');
}

const codeBlock = (lines: readonly string[]): string =>
  `<pre tabindex="0"><code>${escaped(lines.join('\n'))}</code></pre>`;

function headingOf(depth: number, words: string, options: MarkdownOptions): string {
  const level = `h${String(depth)}`;
  const id = options.ids === true ? ` id="${escaped(headingId(words))}"` : '';
  return `<${level}${id}>${inlineMarkdown(words, options)}</${level}>`;
}

/** The items of one list; what is indented below an item is of it. */
function list(lines: readonly string[], options: MarkdownOptions): string {
  const tag = /^\d/.test(lines[0] ?? '') ? 'ol' : 'ul';
  const items: string[][] = [];
  for (const line of lines) {
    const mark = ITEM.exec(line)?.[0];
    if (mark !== undefined) items.push([line.slice(mark.length)]);
    else items.at(-1)?.push(line.replace(/^ {2,3}/, ''));
  }
  const html = items.map((item) => {
    const inner = markdown(item.join('\n'), options);
    const alone = /^<p>((?:(?!<p>)[^])*)<\/p>$/.exec(inner)?.[1];
    return `<li>${alone ?? inner}</li>`;
  });
  return `<${tag}>${html.join('')}</${tag}>`;
}

/** A bar within a cell is written `\|`. */
function table([head = '', , ...rows]: readonly string[], options: MarkdownOptions): string {
  const cells = (line: string): string[] =>
    line
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/)
      .map((cell) => inlineMarkdown(cell.trim().replaceAll('\\|', '|'), options));
  const names = cells(head).map((cell) =>
    cell === '' ? '<td></td>' : `<th scope="col">${cell}</th>`,
  );
  const body = rows.map((row) => {
    const [first = '', ...rest] = cells(row);
    return `<tr><th scope="row">${first}</th>${rest.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
  });
  return `<div class="scroll" tabindex="0"><table><thead><tr>${names.join('')}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}
