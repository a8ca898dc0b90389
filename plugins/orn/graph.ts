// Graphs of an orchestration. POST /api/v1/orn/register stores a graph, which SHARP and backprop requests can then name
// by its entry id. gateway/API.md §10.4.
//
// The entry has the size of the graph and commits to its content. Later requests read the content from the stored
// disclosure, so only the owner can use a graph, and an erased graph is no longer available.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError, findEntry, firstOf, receiptOf, route, statementAt } from '../contract/index.ts';
import type { Caller, Disclosure, JsonObject, PluginHost, Route } from '../contract/index.ts';
import { backwards } from './backprop.ts';
import { GRAPH, GraphMembers, graphType } from './entries.ts';
import {
  End,
  MAX_EDGES,
  MAX_NAMED,
  millionthsOf,
  Named,
  placeOf,
  placesOf,
  ValueInput,
} from './members.ts';

const GraphBody = Type.Object(
  {
    nodes: Type.Array(Named, { minItems: 1, maxItems: MAX_NAMED }),
    edges: Type.Array(
      Type.Object({ from: End, to: End, weight: ValueInput }, { additionalProperties: false }),
      {
        maxItems: MAX_EDGES,
        description:
          'Each edge goes from an agent or a tool to the one that uses its output. Backprop needs weights from 0 to 1.',
      },
    ),
  },
  { $id: 'OrchestrationGraphRequest' },
);

/** A graph in a request. */
export type Graph = Pick<Static<typeof GraphBody>, 'nodes' | 'edges'>;

const GraphAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    graph_id: Type.String({
      format: 'uuid',
      description: 'The name of the graph in later requests.',
    }),
    nodes: GraphMembers.properties.nodes,
    edges: GraphMembers.properties.edges,
    acyclic: GraphMembers.properties.acyclic,
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(graphType),
  },
  { $id: 'OrchestrationGraph' },
);

/** The edges of a graph by the indexes of its nodes; 400 for a duplicate or unknown name. */
export function placedEdges({ nodes, edges }: Graph, weightOf = millionthsOf) {
  const places = placesOf(nodes, 'nodes');
  const placed = edges.map(({ from, to, weight }, at) => {
    const param = `edges.${String(at)}`;
    return {
      from: placeOf(places, from, `${param}.from`),
      to: placeOf(places, to, `${param}.to`),
      weight: weightOf(weight, `${param}.weight`),
    };
  });
  return { places, edges: placed };
}

/** The member by which SHARP and backprop name a graph. */
export const GraphId = Type.Optional(
  Type.String({
    ...{ minLength: 1, maxLength: 64 },
    description: 'The graph_id of a registered graph of the tenant, instead of the graph itself.',
  }),
);

/**
 * A registered graph of the caller.
 *
 * @throws ApiError `resource_missing` if there is none or its content was erased, `tenant_forbidden` if it belongs to
 * another tenant
 */
export async function registeredGraph(
  host: PluginHost,
  caller: Caller,
  graph_id: string,
): Promise<Graph> {
  const param = 'graph_id';
  const name = graph_id.toLowerCase();
  const found = findEntry(host, [caller.kind], name);
  const statement = found === null ? null : statementAt(found.log, found.index);
  if (statement?.['type'] !== GRAPH || statement['entry_id'] !== name) {
    throw new ApiError('resource_missing', 'there is no graph with this id', { param });
  }
  if (statement['tenant_ref'] !== caller.tenant_ref) {
    throw new ApiError('tenant_forbidden', 'the graph belongs to another tenant', { param });
  }
  const { graph } = await host.disclosed(caller, name);
  if (graph === undefined) {
    throw new ApiError('resource_missing', 'the nodes and edges of the graph were erased', {
      param,
    });
  }
  return graph.value as unknown as Graph;
}

/** Refuses a request that sends what the graph that it names has. */
export function refuseBeside(param: string): never {
  const message = `${param} and graph_id are both given; graph_id replaces it`;
  throw new ApiError('parameter_invalid', message, { param });
}

/** The member of an entry that names the graph. */
export const namedGraph = (graph_id: string | undefined): { readonly graph_id?: string } =>
  graph_id === undefined ? {} : { graph_id: graph_id.toLowerCase() };

/**
 * The names of the nodes of an entry: those of the request, else those in the disclosure of its inputs. If that was
 * erased, the indexes are used as names.
 */
export function namesOf(
  sent: Graph['nodes'] | undefined,
  disclosures: readonly Readonly<Record<string, Disclosure>>[],
  member: 'agents' | 'nodes',
  count: number,
): readonly string[] {
  const inputs = disclosures[0]?.['inputs']?.value as JsonObject | undefined;
  const named = sent ?? (inputs?.[member] as unknown as Graph['nodes'] | undefined);
  return named?.map(({ id }) => id) ?? Array.from({ length: count }, (_, at) => String(at));
}

/** The route. */
export function registerRoute(): Route {
  return route({
    method: 'POST',
    path: '/api/v1/orn/register',
    tag: 'orn',
    summary: 'Register the graph of an orchestration',
    description:
      'SHARP and backprop requests can then name it by `graph_id`. The entry has its size and commits to it; the names ' +
      'are in no entry.',
    access: 'key',
    idempotent: true,
    body: GraphBody,
    responses: { 200: { description: 'The graph is stored.', schema: GraphAnswer } },
    example: {
      nodes: [{ id: 'search' }, { id: 'prices' }, { id: 'planner' }],
      edges: [
        { from: 'search', to: 'planner', weight: 0.5 },
        { from: 'prices', to: 'planner', weight: 0.25 },
      ],
    },
    cost: ({ body }) => 1 + body.edges.length / MAX_EDGES,
    async handle(ctx) {
      const { nodes, edges } = ctx.state.body;
      const placed = placedEdges({ nodes, edges });
      const members = {
        nodes: nodes.length,
        edges: edges.length,
        acyclic: backwards(nodes.length, placed.edges) !== null,
      };
      await ctx.state.append([{ type: GRAPH, members, private: { graph: { nodes, edges } } }]);
    },
    respond(entries) {
      const { entry_id, statement, receipt } = firstOf(entries);
      const { nodes, edges, acyclic } = statement;
      const { verify_url } = receipt;
      return { ok: true, graph_id: entry_id, nodes, edges, acyclic, verify_url, receipt };
    },
  });
}
