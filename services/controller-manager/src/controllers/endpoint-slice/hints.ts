import {
  type Endpoint,
  type EndpointHints,
  type EndpointSlice,
  OLD_TOPOLOGY_MODE_ANNOTATION,
  type Service,
  TOPOLOGY_MODE_ANNOTATION,
} from '@gantry/objects';
import { endpointsOf } from '../../libraries/service-endpoints/packing.ts';

const CLOSE = new Set(['PreferClose', 'PreferSameZone', 'PreferSameNode']);

/** Which hints a Service asks for. */
export type HintMode = 'none' | 'zone' | 'zone and node';

/** The mode of `trafficDistribution`, unless the annotation for hints by shares is set, which takes precedence. */
export function hintMode(service: Service): HintMode {
  const { trafficDistribution = '' } = service.spec ?? {};
  if (hintsByShare(service) || !CLOSE.has(trafficDistribution)) return 'none';
  return trafficDistribution === 'PreferSameNode' ? 'zone and node' : 'zone';
}

/** Whether a Service uses hints by its zones' shares of the cluster; see `share-hints.ts`. */
export function hintsByShare({ metadata }: Service): boolean {
  const { annotations = {} } = metadata;
  const mode = annotations[OLD_TOPOLOGY_MODE_ANNOTATION] ?? annotations[TOPOLOGY_MODE_ANNOTATION];
  return mode === 'Auto' || mode === 'auto';
}

/** Whether the hints of a slice are correct. Endpoints that are not ready may have any hints unless the mode is `none`. */
export function hasRightHints(slice: EndpointSlice, mode: HintMode): boolean {
  return endpointsOf(slice).every((endpoint) => {
    const { hints } = endpoint;
    if (mode === 'none') return hints === undefined;
    if (endpoint.conditions?.ready !== true) return true;
    const wanted = hintsOf(endpoint, mode);
    return same(hints?.forZones, wanted?.forZones) && same(hints?.forNodes, wanted?.forNodes);
  });
}

/** The slice with the hints of the mode. */
export function withHints(slice: EndpointSlice, mode: HintMode): EndpointSlice {
  const endpoints = endpointsOf(slice);
  return { ...slice, endpoints: endpoints.map((endpoint) => hinted(endpoint, mode)) };
}

function hinted(endpoint: Endpoint, mode: HintMode): Endpoint {
  if (mode !== 'none' && endpoint.conditions?.ready !== true) return endpoint;
  const { hints: _, ...rest } = endpoint;
  const hints = hintsOf(endpoint, mode);
  return hints === undefined ? rest : { ...rest, hints };
}

function hintsOf({ zone, nodeName }: Endpoint, mode: HintMode): EndpointHints | undefined {
  const forZones = mode !== 'none' && zone !== undefined ? { forZones: [{ name: zone }] } : {};
  const forNodes = mode === 'zone and node' && nodeName !== undefined ? { forNodes: [{ name: nodeName }] } : {};
  const hints = { ...forZones, ...forNodes };
  return Object.keys(hints).length === 0 ? undefined : hints;
}

function same(
  a: readonly { readonly name: string }[] | undefined = [],
  b: readonly { readonly name: string }[] | undefined = [],
): boolean {
  return a.length === b.length && a.every(({ name }, index) => name === b[index]?.name);
}
