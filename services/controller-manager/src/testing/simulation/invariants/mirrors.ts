import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  type Endpoints,
  type EndpointSlice,
  SERVICE_NAME_LABEL,
  SERVICES,
} from '@gantry/objects';
import type { World } from '../world.ts';

const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const MIRRORING = 'endpointslicemirroring-controller.k8s.io';
const SKIP = 'endpointslice.kubernetes.io/skip-mirror';
/** A label that users put on their Endpoints. */
const TIER = 'tier';

/** Whether a slice mirrors Endpoints that a user maintains. */
export function isMirror({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.[MANAGED_BY] === MIRRORING;
}

/** Whether the Endpoints that a slice mirrors have an address. */
export function isKept(world: World, slice: EndpointSlice, address: string): boolean {
  const endpoints = mirroredBy(world, slice);
  return endpoints?.subsets?.some(({ addresses = [] }) => addresses.some(({ ip }) => ip === address)) === true;
}

/** I34: at rest, the Endpoints that users maintain for a Service without a selector are mirrored completely, and no others are. */
export function* mirrorViolations(world: World): Iterable<string> {
  const shown = new Map<string, string[]>();
  for (const slice of world.all(ENDPOINT_SLICES)) {
    if (!isMirror(slice)) continue;
    const id = idOf(slice.metadata.namespace, slice.metadata.labels?.[SERVICE_NAME_LABEL]);
    shown.set(id, [...(shown.get(id) ?? []), ...linesOfSlice(slice)]);
  }
  for (const endpoints of world.all(ENDPOINTS)) {
    if (!isMirrored(world, endpoints)) continue;
    const id = idOf(endpoints.metadata.namespace, endpoints.metadata.name);
    const [wanted, mirrored] = [inOrder(linesOf(endpoints)), inOrder(shown.get(id) ?? [])];
    shown.delete(id);
    if (wanted !== mirrored) yield `I34: Endpoints ${id} have ${wanted}, their slices ${mirrored}`;
  }
  for (const [id, lines] of shown) yield `I34: slices of ${id} mirror nothing: ${lines.join()}`;
}

function mirroredBy(world: World, { metadata }: EndpointSlice): Endpoints | undefined {
  const endpoints = world.get(ENDPOINTS, metadata.namespace ?? '', metadata.labels?.[SERVICE_NAME_LABEL] ?? '');
  return endpoints !== undefined && isMirrored(world, endpoints) ? endpoints : undefined;
}

function isMirrored(world: World, { metadata }: Endpoints): boolean {
  const service = world.get(SERVICES, metadata.namespace ?? '', metadata.name ?? '');
  return service !== undefined && service.spec?.selector === undefined && metadata.labels?.[SKIP] !== 'true';
}

function linesOf({ metadata, subsets = [] }: Endpoints): string[] {
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports = [] }) => [
    ...addresses.flatMap(({ ip }) => linesOfAddress(ports, ip, true, metadata.labels)),
    ...notReadyAddresses.flatMap(({ ip }) => linesOfAddress(ports, ip, false, metadata.labels)),
  ]);
}

function linesOfSlice({ metadata, endpoints, ports }: EndpointSlice): string[] {
  return (endpoints ?? []).flatMap(({ addresses, conditions }) =>
    addresses.flatMap((ip) => linesOfAddress(ports ?? [], ip, conditions?.ready !== false, metadata.labels)),
  );
}

type Port = { readonly name?: string; readonly port?: number };

/** One line for each port. Which ports share a slice depends on the other addresses, so it is not compared. */
function linesOfAddress(
  ports: readonly Port[],
  ip: string,
  ready: boolean,
  labels: Readonly<Record<string, string>> = {},
): string[] {
  return ports.map(({ name, port }) => `${ip}${ready ? '' : ' not ready'} ${name}:${port} ${labels[TIER] ?? ''}`);
}

/** Each line once, sorted. Two subsets may contain the same address and ports. */
function inOrder(lines: readonly string[]): string {
  return [...new Set(lines)].sort().join();
}

function idOf(namespace = '', name = ''): string {
  return `${namespace}/${name}`;
}
