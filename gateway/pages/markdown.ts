// Documents of this project as HTML, by markdown-it. HTML in a document is shown as text, and a link is kept only if the
// caller of the renderer has an address for its target.

import MarkdownIt from 'markdown-it';

/** How a document's own names become links. */
export interface MarkdownOptions {
  /** The address of a link's target, or null for a target that has no address here; the text of the link then stays. */
  readonly address?: (target: string) => string | null;
  /** HTML for a piece of text outside of code and links; the piece is escaped already. */
  readonly text?: (escaped: string) => string;
  /** Whether headings get an id, made of their words. */
  readonly ids?: boolean;
}

/** The options of a rendering, and whether its text is inside a link. */
interface Rendering {
  readonly options: MarkdownOptions;
  inLink: boolean;
}

/** The id of a heading: its words in lower case with hyphens between them, as GitHub has them in a fragment. */
export function headingId(heading: string): string {
  const words = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '');
  return idOf(words.trim().replace(/\s/g, '-'));
}

/** The id that a fragment of GitHub's means: ours begin with a letter, those of numbered headings with `s`. */
export const idOf = (fragment: string): string => fragment.replace(/^(?=\d)/, 's');

const md = new MarkdownIt({ html: false, linkify: false, typographer: false });
/** Text as HTML, also in attributes. */
export const { escapeHtml } = md.utils;

/** Drops HTML comments that are alone on their line, such as the markers of generated tables. */
md.block.ruler.before('paragraph', 'comment', (state, line, _end, silent) => {
  const text = state.src.slice(
    (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0),
    state.eMarks[line],
  );
  if (!/^<!--.*-->$/.test(text)) return false;
  if (!silent) state.line = line + 1;
  return true;
});

/** The first cell of each row of a table names the row; an empty cell of the head names no column. */
md.core.ruler.push('header_cells', ({ tokens }) => {
  tokens.forEach((token, i) => {
    const close = tokens[i + 2];
    if (token.type === 'th_open' && close !== undefined) {
      if (tokens[i + 1]?.content === '') token.tag = close.tag = 'td';
      else token.attrSet('scope', 'col');
    }
    const firstOfBody = tokens[i - 1]?.type === 'tr_open' && token.type === 'td_open';
    if (firstOfBody && close !== undefined) {
      token.tag = close.tag = 'th';
      token.attrSet('scope', 'row');
    }
  });
});

const rendering = (env: unknown): Rendering => env as Rendering;
const codeBlock = (text: string): string =>
  `<pre tabindex="0"><code>${escapeHtml(text.replace(/\n$/, ''))}</code></pre>\n`;

const { rules } = md.renderer;
rules.fence = (tokens, i) => codeBlock(tokens[i]?.content ?? '');
rules.code_block = rules.fence;
rules['table_open'] = () => '<div class="scroll" tabindex="0"><table>\n';
rules['table_close'] = () => '</table></div>\n';
rules['heading_open'] = (tokens, i, _options, env) => {
  const level = tokens[i]?.tag ?? 'h1';
  if (rendering(env).options.ids !== true) return `<${level}>`;
  return `<${level} id="${escapeHtml(headingId(tokens[i + 1]?.content ?? ''))}">`;
};
rules['link_open'] = (tokens, i, _options, env) => {
  const target = tokens[i]?.attrGet('href') ?? '';
  const address = rendering(env).options.address?.(target) ?? null;
  // The closing tag is written if the opening one was.
  const close = tokens.slice(i).find(({ type }) => type === 'link_close');
  if (close !== undefined) close.hidden = address === null;
  rendering(env).inLink = true;
  return address === null ? '' : `<a href="${escapeHtml(address)}">`;
};
rules['link_close'] = (tokens, i, _options, env) => {
  rendering(env).inLink = false;
  return tokens[i]?.hidden === true ? '' : '</a>';
};
rules.image = (tokens, i) => escapeHtml(tokens[i]?.content ?? '');
rules.text = (tokens, i, _options, env) => {
  const { options, inLink } = rendering(env);
  const html = escapeHtml(tokens[i]?.content ?? '');
  return inLink || options.text === undefined ? html : options.text(html);
};

/** One line: code between backticks, links, strong and emphasis. */
export const inlineMarkdown = (text: string, options: MarkdownOptions = {}): string =>
  md.renderInline(text, { options, inLink: false } satisfies Rendering);

/** A whole text. */
export const markdown = (text: string, options: MarkdownOptions = {}): string =>
  md.render(text, { options, inLink: false } satisfies Rendering);
