// /guides: each document is a complete page, and its links resolve.

import assert from 'node:assert/strict';
import { markdown } from '../../../gateway/pages/markdown.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

const NAMES = ['api', 'format', 'operating', 'monitoring', 'agents', 'plugins'];

describe('/guides', () => {
  let running: Running;
  const pages = new Map<string, string>();

  before(async () => {
    running = await run();
    for (const name of NAMES) {
      const page = await running.get(`/guides/${name}`);
      assert.equal(page.status, 200, page.text);
      pages.set(`/guides/${name}`, page.text);
    }
  });
  after(() => running.close());

  it('lists the guides, and is linked from the home page and the API', async () => {
    const { text } = await running.get('/guides');
    for (const name of NAMES) assert.ok(text.includes(`href="/guides/${name}"`), name);
    assert.match((await running.get('/')).text, /href="\/guides"/);
    assert.match((await running.get('/docs')).text, /href="\/guides\/api"/);
    const missing = await running.get('/guides/nothing');
    assert.equal(missing.json.error.code, 'resource_missing');
  });

  it('has links to existing pages and headings only, also in citations', () => {
    const ids = new Map(
      [...pages].map(([path, text]) => {
        const all = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id);
        assert.equal(new Set(all).size, all.length, `${path} has an id twice`);
        return [path, new Set(all)];
      }),
    );
    let crossing = 0;
    for (const [path, text] of pages) {
      for (const [, href = ''] of text.matchAll(/<a href="([^"]*)"/g)) {
        const [target = '', id] = href.split('#');
        if (target !== '' && !target.startsWith('/guides/')) continue;
        const there = ids.get(target === '' ? path : target);
        assert.ok(there !== undefined, `${path} links to ${href}`);
        assert.ok(id === undefined || there.has(id), `${path} links to ${href}`);
        if (target !== '' && id !== undefined) crossing += 1;
      }
      assert.doesNotMatch(text, /href="(?!\/|#|https:\/\/)/, path);
    }
    assert.ok(crossing > 10, `${String(crossing)} links to sections of other guides`);
  });

  it('contain no unrendered Markdown', () => {
    for (const [path, text] of pages) {
      const prose = text.replace(/<(pre|code)\b.*?<\/\1>/gs, '');
      assert.doesNotMatch(prose, /```|\]\(|^\s*\||\*\*|&lt;!--|^#+ /m, path);
    }
  });
});

describe('the Markdown of documents', () => {
  const html = (text: string): string => markdown(text, { address: (target) => target });

  it('escapes everything, in text, code, links and cells', () => {
    const hostile = '<img src=x onerror="alert(1)">';
    for (const text of [
      hostile,
      `# ${hostile}`,
      `\`${hostile}\``,
      `\`\`\`\n${hostile}\n\`\`\``,
      `    ${hostile}`,
      `- ${hostile}`,
      `| ${hostile} |\n| --- |\n| ${hostile} |`,
      `[${hostile}](#x)`,
      '[x]("><img)',
    ]) {
      assert.doesNotMatch(html(text), /<img/, text);
    }
  });

  it('nests code in lists, and keeps bars within cells', () => {
    assert.equal(
      html('1. one\n\n   ```sh\n   a | b\n   ```\n\n2. two').replaceAll('\n', ''),
      '<ol><li><p>one</p><pre tabindex="0"><code>a | b</code></pre></li><li><p>two</p></li></ol>',
    );
    assert.match(html('| a | b |\n| --- | --- |\n| `x \\| y` | _z_ |'), /<code>x \| y<\/code>/);
  });

  it('keeps only links that have an address, and shows the text of others', () => {
    const address = (target: string): string | null => (target.startsWith('/') ? target : null);
    const shown = (text: string): string => markdown(text, { address }).trim();
    assert.equal(shown('[a `b`](/c)'), '<p><a href="/c">a <code>b</code></a></p>');
    assert.equal(shown('[a](https://x.example)'), '<p>a</p>');
    assert.doesNotMatch(shown('[a](javascript:alert(1)) <javascript:alert(1)>'), /href/);
    assert.equal(shown('![a picture](/c.png)'), '<p>a picture</p>');
    assert.equal(markdown('[a](/c)').trim(), '<p>a</p>');
  });

  it('gives headings ids, names rows and columns of tables, and drops comments', () => {
    assert.equal(
      markdown('## 3.1 A `b`', { ids: true }).trim(),
      '<h2 id="s31-a-b">3.1 A <code>b</code></h2>',
    );
    assert.equal(markdown('<!-- note -->\n\ntext').trim(), '<p>text</p>');
    assert.equal(
      markdown('|   | b |\n| --- | --- |\n| c | d |').replaceAll('\n', ''),
      '<div class="scroll" tabindex="0"><table><thead><tr><td></td><th scope="col">b</th></tr></thead>' +
        '<tbody><tr><th scope="row">c</th><td>d</td></tr></tbody></table></div>',
    );
  });
});
