import {
  controllerOf,
  type Endpoint,
  ENDPOINT_SLICES,
  ENDPOINTS,
  type EndpointSlice,
  hasEnded,
  type KubeObject,
  type Pod,
  PODS,
  type Resource,
  type Service,
  SERVICES,
} from '@gantry/objects';
import { isReady } from '../readiness.ts';
import { type Change, isOf, type World } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';
import { isKept, isMirror } from './mirrors.ts';

/** This is longer than a manager is absent after several crashes, including the back-offs in between. */
const LATE_MS = 60_000;

/** The resources that endpoints are computed from and the ones that contain them. */
const SHOWING: readonly Resource[] = [PODS, SERVICES, ENDPOINTS, ENDPOINT_SLICES];

/** An endpoint does not stay ready for long after its pod has become unready, is being deleted, or is gone. */
export const endpointInvariant = (now: () => number): Invariant => ({
  name: 'I34: no traffic to a pod that is not ready',
  watch: (world, report) => {
    /** The time since when an endpoint is wrong. Undefined when that was reported. */
    const wrong = new Map<string, number | undefined>();
    world.subscribe((change) => {
      if (SHOWING.some((resource) => isOf(change, resource))) noteWrong(wrong, world, now());
      for (const [endpoint, since] of wrong) {
        if (since === undefined || now() - since <= LATE_MS) continue;
        report(`${describeChange(change)}: ${endpoint} has been wrong for ${now() - since} ms`);
        wrong.set(endpoint, undefined);
      }
    });
  },
});

function noteWrong(wrong: Map<string, number | undefined>, world: World, now: number): void {
  const found = new Set<string>();
  for (const slice of world.all(ENDPOINT_SLICES)) {
    for (const address of goneFromMirror(world, slice))
      found.add(`${slice.metadata.namespace}/${slice.metadata.name} ${address}`);
    const service = serviceOf(world, slice);
    if (service === undefined || service.spec?.publishNotReadyAddresses === true) continue;
    for (const endpoint of slice.endpoints ?? []) {
      if (endpoint.conditions?.ready === false || isServing(world, slice, endpoint)) continue;
      found.add(`${slice.metadata.namespace}/${slice.metadata.name} ${endpoint.targetRef?.name}`);
    }
  }
  for (const one of wrong.keys()) if (!found.has(one)) wrong.delete(one);
  for (const one of found) if (!wrong.has(one)) wrong.set(one, now);
}

/** The ready addresses of a mirroring slice that no Endpoints contain any more. */
function goneFromMirror(world: World, slice: EndpointSlice): readonly string[] {
  if (!isMirror(slice)) return [];
  const ready = (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
  return ready.flatMap(({ addresses }) => addresses).filter((address) => !isKept(world, slice, address));
}

function isServing(world: World, { metadata }: EndpointSlice, { targetRef }: Endpoint): boolean {
  const pod = world.get(PODS, metadata.namespace ?? '', targetRef?.name ?? '');
  return pod?.metadata.uid === targetRef?.uid && isReady(pod) && pod?.metadata.deletionTimestamp === undefined;
}

function serviceOf(world: World, slice: EndpointSlice): Service | undefined {
  const owner = controllerOf(slice);
  const service = world.get(SERVICES, slice.metadata.namespace ?? '', owner?.name ?? '');
  return service?.metadata.uid === owner?.uid ? service : undefined;
}

/** No slice contains a pod twice, and no cluster address belongs to two Services. */
export const addressInvariant: Invariant = {
  name: 'I35: an address has one owner',
  watch: (world, report) =>
    world.subscribe((change) => {
      if (change.object === undefined) return;
      if (isOf(change, SERVICES)) takeService(world, change, change.object, report);
      else if (isOf(change, ENDPOINT_SLICES)) {
        const addresses = ((change.object as EndpointSlice).endpoints ?? []).flatMap((one) => one.addresses);
        const twice = addresses.find((address, index) => addresses.indexOf(address) !== index);
        if (twice !== undefined) report(`${describeChange(change)}: ${twice} is there twice`);
      }
    }),
};

function takeService(world: World, change: Change, { metadata, spec }: Service, report: (text: string) => void): void {
  const { clusterIP = '' } = spec ?? {};
  if (clusterIP === '' || clusterIP === 'None') return;
  for (const other of world.all(SERVICES)) {
    if (other.metadata.uid === metadata.uid || other.spec?.clusterIP !== clusterIP) continue;
    report(`${describeChange(change)}: ${clusterIP} belongs to ${other.metadata.namespace}/${other.metadata.name}`);
  }
}

/** I34: at rest, the slices and the Endpoints of each Service with a selector contain exactly the pods that it selects. */
export function* endpointViolations(world: World): Iterable<string> {
  for (const service of world.all(SERVICES)) {
    if (service.spec?.selector === undefined) continue;
    const { namespace = '', name = '' } = service.metadata;
    const wanted = podsOf(world, service)
      .map((pod) => stateOf(pod, service))
      .sort()
      .join();
    const slices = world.all(ENDPOINT_SLICES).filter((slice) => serviceOf(world, slice) === service);
    const shown = slices
      .flatMap(({ endpoints }) => (endpoints ?? []).map(stateOfEndpoint))
      .sort()
      .join();
    if (slices.length === 0) yield `I34: ${namespace}/${name} has no slice`;
    if (shown !== wanted) yield `I34: slices of ${namespace}/${name} have ${shown}, its pods are ${wanted}`;
    const subsets = world.get(ENDPOINTS, namespace, name)?.subsets ?? [];
    const ready = subsets.flatMap(({ addresses = [] }) => addresses.map((one) => nameState(one.targetRef?.name, true)));
    const notReady = subsets.flatMap(({ notReadyAddresses = [] }) =>
      notReadyAddresses.map((one) => nameState(one.targetRef?.name, false)),
    );
    const listed = [...ready, ...notReady].sort().join();
    if (listed !== wanted) yield `I34: Endpoints of ${namespace}/${name} have ${listed}, its pods are ${wanted}`;
  }
}

function podsOf(world: World, { metadata, spec }: Service): readonly Pod[] {
  const selector = Object.entries(spec?.selector ?? {});
  return world.all(PODS).filter((pod: Pod & KubeObject) => {
    const { labels = {}, namespace } = pod.metadata;
    const isSelected = namespace === metadata.namespace && selector.every(([key, value]) => labels[key] === value);
    return isSelected && !hasEnded(pod) && pod.status?.podIP !== undefined;
  });
}

function stateOf(pod: Pod, { spec }: Service): string {
  return nameState(pod.metadata.name, isReady(pod) || spec?.publishNotReadyAddresses === true);
}

function stateOfEndpoint({ targetRef, conditions }: Endpoint): string {
  return nameState(targetRef?.name, conditions?.ready !== false);
}

function nameState(name: string | undefined, ready: boolean): string {
  return `${name}${ready ? '' : ' not ready'}`;
}
