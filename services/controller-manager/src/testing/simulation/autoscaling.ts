import type { InProcessServer } from '@gantry/apiserver/testing';
import { type Clock, formatTime } from '@gantry/base';
import {
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  type JsonObject,
  parseLabelSelector,
  PODS,
  StatusError,
} from '@gantry/objects';
import type { ReadPath } from '../../controllers/horizontal-pod-autoscaler/scale-reader.shell.ts';
import type { World } from './world.ts';

/** The annotation of an autoscaler with which a history sets how many replicas the load of its target needs. */
export const LOAD = 'simulation.gantry.dev/load';
/** The target use of one replica, in thousandths: of a core, of a byte of memory, or of the metric of another server. */
export const TARGET_MILLICORES = 100;
/** The metric that another server has for pods, for their Deployment, and for something outside the cluster. */
export const LOAD_METRIC = 'load';

const SCALE = /^\/apis\/apps\/v1\/namespaces\/([^/]+)\/deployments\/([^/]+)\/scale$/;
const METRICS = /^\/apis\/metrics\.k8s\.io\/v1beta1\/namespaces\/([^/]+)\/pods$/;
const CUSTOM = '/apis/custom.metrics.k8s.io';
const OF_PODS = /^\/apis\/custom\.metrics\.k8s\.io\/v1beta2\/namespaces\/([^/]+)\/pods\/\*\/load$/;
const OF_OBJECT = /^\/apis\/custom\.metrics\.k8s\.io\/v1beta2\/namespaces\/([^/]+)\/deployments\.apps\/([^/]+)\/load$/;
const EXTERNAL = /^\/apis\/external\.metrics\.k8s\.io\/v1beta1\/namespaces\/([^/]+)\/load$/;

interface ReadsOptions {
  readonly server: InProcessServer;
  readonly world: World;
  readonly clock: Clock;
}

/** Reads for autoscalers: scales come from the server. Metrics are those of running pods, which share the load of their Deployment. */
export function createSimulatedReads({ server, world, clock }: ReadsOptions): ReadPath {
  return async (path, signal) => {
    const { pathname, searchParams } = new URL(path, 'https://server');
    const [, scaleNamespace, name] = SCALE.exec(pathname) ?? [];
    if (scaleNamespace !== undefined && name !== undefined) {
      const key = { namespace: scaleNamespace, name, subresource: 'scale' };
      return (await server.readSubresource(DEPLOYMENTS, key, signal)) as JsonObject;
    }
    const found = metricAt(pathname, {
      world,
      selector: searchParams.get('labelSelector') ?? '',
      now: formatTime(clock.now()),
    });
    if (found === undefined) throw StatusError.notFound({ group: '', resource: 'paths' }, path);
    return found;
  };
}

interface Asked {
  readonly world: World;
  readonly selector: string;
  readonly now: string;
}

/** The responses of the metrics servers. Returns undefined for other paths. */
function metricAt(pathname: string, asked: Asked): JsonObject | undefined {
  if (pathname === CUSTOM) return { preferredVersion: { version: 'v1beta2' }, versions: [{ version: 'v1beta2' }] };
  const [, namespace] = METRICS.exec(pathname) ?? OF_PODS.exec(pathname) ?? [];
  if (namespace !== undefined)
    return METRICS.test(pathname) ? podMetrics(namespace, asked) : customMetrics(namespace, asked);
  const [, inside, name = ''] = OF_OBJECT.exec(pathname) ?? [];
  if (inside !== undefined) {
    const value = wholeLoad(asked.world, inside, ({ app }) => app === name);
    return metricList([
      { describedObject: { kind: 'Deployment', namespace: inside, name }, value, timestamp: asked.now },
    ]);
  }
  const [, outside] = EXTERNAL.exec(pathname) ?? [];
  if (outside === undefined) return undefined;
  const value = wholeLoad(asked.world, outside, () => true);
  return { items: [{ metricName: LOAD_METRIC, value, timestamp: asked.now }] };
}

function podMetrics(namespace: string, asked: Asked): JsonObject {
  const { pods, millicores } = sharedLoad(namespace, asked);
  const usage = { cpu: `${millicores}m`, memory: `${millicores}m` };
  const items = pods.map((name) => ({
    metadata: { name, namespace },
    timestamp: asked.now,
    window: '10s',
    containers: [{ name: 'c', usage }],
  }));
  return { kind: 'PodMetricsList', apiVersion: 'metrics.k8s.io/v1beta1', metadata: {}, items };
}

function customMetrics(namespace: string, asked: Asked): JsonObject {
  const { pods, millicores } = sharedLoad(namespace, asked);
  const each = (name: string) => ({
    describedObject: { kind: 'Pod', namespace, name },
    value: `${millicores}m`,
    timestamp: asked.now,
  });
  return metricList(pods.map(each));
}

function metricList(items: readonly JsonObject[]): JsonObject {
  return { kind: 'MetricValueList', apiVersion: 'custom.metrics.k8s.io/v1beta2', metadata: {}, items: [...items] };
}

/** The selected running pods, each with its share of their Deployment's load. */
function sharedLoad(namespace: string, { world, selector: text }: Asked) {
  const selector = parseLabelSelector(text);
  const pods = world
    .all(PODS)
    .filter(({ metadata, status }) => metadata.namespace === namespace && status?.phase === 'Running')
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined && selector.matches(metadata.labels))
    .map(({ metadata }) => metadata.name ?? '');
  const load = loadOf(world, namespace, (labels) => selector.matches(labels)) * TARGET_MILLICORES;
  return { pods, millicores: Math.floor(load / pods.length) };
}

function wholeLoad(world: World, namespace: string, matches: (labels: Record<string, string>) => boolean): string {
  return `${loadOf(world, namespace, matches) * TARGET_MILLICORES}m`;
}

/** The load that the annotation of these pods' autoscaler sets. */
function loadOf(world: World, namespace: string, matches: (labels: Record<string, string>) => boolean): number {
  const autoscaler = world
    .all(HORIZONTAL_POD_AUTOSCALERS)
    .find(({ metadata, spec }) => metadata.namespace === namespace && matches({ app: spec.scaleTargetRef.name }));
  return Number(autoscaler?.metadata.annotations?.[LOAD] ?? 0);
}
