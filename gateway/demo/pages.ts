// The demonstrations, each with its own job, on real calls of the sandbox (calls.ts).
// gateway/API.md §17 (track targets): a partner's link leads here, and its slug then stands in the footer.

import { Type } from 'typebox';
import { pageRoute } from '../../plugins/contract/index.ts';
import type { Json, JsonObject, Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';

/** One page. */
interface DemoPage {
  readonly path: string;
  readonly view: string;
  readonly title: string;
  readonly script: string;
  /** What the view shows, from the catalogs. */
  readonly data?: JsonObject;
}

interface Clock extends JsonObject {
  readonly label: string;
  readonly hours: number;
  readonly source: string;
}

interface DemoCatalog {
  readonly hero: JsonObject;
  readonly scan: JsonObject;
  readonly proofs: readonly (JsonObject & { readonly path: string; readonly title: string })[];
}

const QUERY = Type.Object({
  autorun: Type.Optional(Type.String({ maxLength: 8 })),
  partner: Type.Optional(
    Type.String({ maxLength: 64, description: 'Slug of the partner whose link led here.' }),
  ),
});

/** `/demo/hero` and the other targets of tracked links that are demonstrations. */
export function demoPages(gateway: Gateway): readonly Route[] {
  return pagesOf(gateway).map(({ path, view, title, script, data }) =>
    pageRoute({ path, summary: `Demonstration: ${title}`, query: QUERY }, (ctx) => {
      const { partner: slug } = ctx.state.query;
      return gateway.page(`demo/${view}`, {
        title,
        here: path,
        scripts: [script],
        partner: slug === undefined ? null : gateway.plugged().partner(slug),
        base_url: gateway.base_url,
        helplines: gateway.catalog('helplines.json'),
        ...data,
      });
    }),
  );
}

function pagesOf(gateway: Gateway): readonly DemoPage[] {
  const catalog = (path: string): Json => gateway.catalog(path);
  const { hero, scan, proofs } = catalog('demo.json') as unknown as DemoCatalog;
  const naic = catalog('compliance/naic.json') as JsonObject;
  return [
    {
      path: '/demo/hero',
      view: 'hero',
      title: 'One decision, from question to proof',
      script: 'hero-page.js',
      data: { hero },
    },
    {
      path: '/bind-room',
      view: 'bind-room',
      title: 'The bind room',
      script: 'bind-room-page.js',
    },
    {
      path: '/scan/exhibit-d',
      view: 'scan',
      title: 'Exhibit D scan',
      script: 'scan-page.js',
      data: { scan, tool: naic['tool'] ?? null },
    },
    {
      path: '/clocks/naic',
      view: 'clocks',
      title: 'Incident clocks',
      script: 'clocks-page.js',
      data: { clocks: clocksOf(catalog), tool: naic['tool'] ?? null },
    },
    {
      path: '/broker-relay',
      view: 'broker-relay',
      title: 'The broker relay',
      script: 'broker-relay-page.js',
      data: { relay: catalog('relay.json') },
    },
    ...proofs.map((proof) => ({
      path: proof.path,
      view: 'proof',
      title: proof.title,
      script: 'proof-page.js',
      data: { proof },
    })),
  ];
}

/** NAIC's clocks, and those of Article 73 as the reports have them; the shortest first. */
function clocksOf(catalog: Gateway['catalog']): JsonObject {
  const { note, clocks } = catalog('clocks.json') as { note: string; clocks: readonly Clock[] };
  const { regulation, incident_clocks } = catalog('compliance/article-12.json') as unknown as {
    readonly regulation: { readonly name: string };
    readonly incident_clocks: readonly { days: number; text: string; article: string }[];
  };
  const others = incident_clocks.map(({ days, text, article }) => ({
    label: text,
    hours: days * 24,
    source: `${regulation.name}, Article ${article}`,
  }));
  return { note, clocks: [...clocks, ...others].toSorted((a, b) => a.hours - b.hours) };
}
