// The pages of the demonstrations, on real calls to the sandbox log (calls.ts). A partner's tracked link leads to one of
// them, and the footer then names the partner (gateway/API.md §17).

import { Type } from 'typebox';
import { pageRoute } from '../contract/index.ts';
import type { Json, JsonObject, PluginHost, Route } from '../contract/index.ts';

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
export function demoPages(host: PluginHost): readonly Route[] {
  return pagesOf(host).map(({ path, view, title, script, data }) =>
    pageRoute({ path, tag: 'Demonstrations', summary: title, query: QUERY }, (ctx) => {
      const { partner } = ctx.state.query;
      return host.page(view, {
        title,
        here: path,
        scripts: [script],
        partner,
        base_url: host.url(''),
        helplines: host.catalog('helplines.json'),
        ...data,
      });
    }),
  );
}

function pagesOf(host: PluginHost): readonly DemoPage[] {
  const catalog = (path: string): Json => host.catalog(path);
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
function clocksOf(catalog: PluginHost['catalog']): JsonObject {
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
