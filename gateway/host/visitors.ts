// Routes that visitors call without a key (gateway/API.md §3.3, §3.4): each is a route of the service under a second path,
// with a body that takes less. It acts in the sandbox log for one tenant that all visitors share.

import type { TSchema } from 'typebox';
import type { Json, JsonObject, Route, VisitorRoute } from '../../plugins/contract/index.ts';
import { own as ownedBy, ownerOf, PluginError } from './plugin-error.ts';

const VISITED = new WeakSet<Route>();

/** Whether the caller of a route is the tenant of visitors, in the sandbox log. */
export const isVisitorRoute = (route: Route): boolean => VISITED.has(route);

/** Makes the routes that the plugins open to visitors; `routes` are those of the service. */
export function visitorRoutes(
  routes: readonly Route[],
  declared: readonly VisitorRoute[],
): readonly Route[] {
  return declared.map((visited) => {
    const { path, tag, target, members, example, needs, body } = visited;
    const real = routes.find((route) => `${route.method} ${route.path}` === target);
    if (real === undefined) {
      throw new PluginError(
        ownerOf(visited),
        `the visitor route ${path} has the target ${target}, which is no route`,
      );
    }
    const { aliases: _, example: shown, ...rest } = real;
    const description = `${target} in the sandbox log, without a key, for a tenant that visitors share.`;
    const made: Route = {
      ...rest,
      path,
      tag,
      summary: `${real.summary}, as a visitor`,
      description: needs === undefined ? description : `${description} ${needs}`,
      access: 'open',
      ...(members !== undefined && {
        body: narrowed(real, visited, members),
        example: { ...kept(shown, members), ...example },
      }),
      ...(body !== undefined && {
        bodyRequired: false,
        handle(ctx) {
          (ctx.state as { body: unknown }).body = body;
          return real.handle(ctx);
        },
      }),
    };
    VISITED.add(made);
    ownedBy(ownerOf(visited), made);
    return made;
  });
}

/** The members of an example that a visitor may give. */
const kept = (example: Json | undefined, members: readonly string[]): JsonObject =>
  Object.fromEntries(
    Object.entries((example ?? {}) as JsonObject).filter(([name]) => members.includes(name)),
  );

/** The body of a route with these members alone; others are refused. */
function narrowed({ body }: Route, visited: VisitorRoute, members: readonly string[]): TSchema {
  const { path, target, schemas = {} } = visited;
  const { properties, required = [] } = body as unknown as {
    readonly properties: Readonly<Record<string, TSchema>>;
    readonly required?: readonly string[];
  };
  const own = members.map((name): [string, TSchema] => {
    const member = properties[name];
    if (member === undefined) {
      throw new PluginError(
        ownerOf(visited),
        `the visitor route ${path} has the member ${name}, which the body of ${target} does not have`,
      );
    }
    return [name, schemas[name] ?? member];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(own),
    required: required.filter((name) => members.includes(name)),
    additionalProperties: false,
  };
}
