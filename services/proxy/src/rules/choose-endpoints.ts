import type { RoutedEndpoint } from './endpoints.ts';

/** Where a packet comes from: a Node's pod, or a program of the host, which is on no Node and in no zone. */
export interface Origin {
  readonly node: string;
  readonly zone: string;
}

/** The host itself, and clients from outside of it. */
export const HOST: Origin = { node: '', zone: '' };

/**
 * The endpoints of the policy Cluster: the ready ones, narrowed by their hints for the origin; else those that terminate but still
 * serve.
 */
export function clusterEndpoints(endpoints: readonly RoutedEndpoint[], origin: Origin): readonly RoutedEndpoint[] {
  const ready = endpoints.filter(({ state }) => state === 'ready');
  if (ready.length === 0) return endpoints.filter(({ state }) => state === 'serving-terminating');
  return (
    hinted(ready, ({ nodeHints }) => nodeHints, origin.node) ??
    hinted(ready, ({ zoneHints }) => zoneHints, origin.zone) ??
    ready
  );
}

/** The endpoints of the policy Local, on any of the nodes: the ready ones, else those that terminate but still serve. */
export function localEndpoints(
  endpoints: readonly RoutedEndpoint[],
  isLocal: (node: string) => boolean,
): readonly RoutedEndpoint[] {
  const local = endpoints.filter(({ node }) => isLocal(node));
  const ready = local.filter(({ state }) => state === 'ready');
  return ready.length > 0 ? ready : local.filter(({ state }) => state === 'serving-terminating');
}

/** Whether any endpoint could take a packet, from wherever. */
export function hasUsable(endpoints: readonly RoutedEndpoint[]): boolean {
  return endpoints.some(({ state }) => state !== 'unusable');
}

/** Hints count only when every ready endpoint has some and one of them is for the origin. */
function hinted(
  ready: readonly RoutedEndpoint[],
  hintsOf: (endpoint: RoutedEndpoint) => readonly string[],
  place: string,
): readonly RoutedEndpoint[] | undefined {
  if (ready.some((endpoint) => hintsOf(endpoint).length === 0)) return undefined;
  const found = ready.filter((endpoint) => hintsOf(endpoint).includes(place));
  return found.length > 0 ? found : undefined;
}
