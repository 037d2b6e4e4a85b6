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
import type { ReadPath } from '../../controllers/horizontal-pod-autoscaler/rest-reader.ts';
import type { World } from './world.ts';

/** Annotation of an autoscaler by which a history decides for how many replicas its target has load. */
export const LOAD = 'simulation.gantry.dev/load';
/** What one replica is to use. */
export const TARGET_MILLICORES = 100;

const SCALE = /^\/apis\/apps\/v1\/namespaces\/([^/]+)\/deployments\/([^/]+)\/scale$/;
const METRICS = /^\/apis\/metrics\.k8s\.io\/v1beta1\/namespaces\/([^/]+)\/pods$/;

interface ReadsOptions {
  readonly server: InProcessServer;
  readonly world: World;
  readonly clock: Clock;
}

/** Reads what autoscalers read: scales from the server, and metrics of running pods, which share the load of their Deployment. */
export function createSimulatedReads({ server, world, clock }: ReadsOptions): ReadPath {
  return async (path, signal) => {
    const { pathname, searchParams } = new URL(path, 'https://server');
    const [, scaleNamespace, name] = SCALE.exec(pathname) ?? [];
    if (scaleNamespace !== undefined && name !== undefined) {
      const key = { namespace: scaleNamespace, name, subresource: 'scale' };
      return (await server.readSubresource(DEPLOYMENTS, key, signal)) as unknown as JsonObject;
    }
    const [, namespace] = METRICS.exec(pathname) ?? [];
    if (namespace === undefined) throw StatusError.notFound({ group: '', resource: 'paths' }, path);
    return podMetrics(world, namespace, searchParams.get('labelSelector') ?? '', formatTime(clock.now()));
  };
}

function podMetrics(world: World, namespace: string, labelSelector: string, timestamp: string): JsonObject {
  const selector = parseLabelSelector(labelSelector);
  const pods = world
    .all(PODS)
    .filter(({ metadata, status }) => metadata.namespace === namespace && status?.phase === 'Running')
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined && selector.matches(metadata.labels));
  const load = loadOf(world, namespace, (labels) => selector.matches(labels)) * TARGET_MILLICORES;
  const cpu = `${Math.floor(load / pods.length)}m`;
  const items = pods.map(({ metadata: { name = '' } }) => ({
    metadata: { name, namespace },
    timestamp,
    window: '10s',
    containers: [{ name: 'c', usage: { cpu, memory: '1Mi' } }],
  }));
  return { kind: 'PodMetricsList', apiVersion: 'metrics.k8s.io/v1beta1', metadata: {}, items };
}

/** The load that the autoscaler of these pods' Deployment names. */
function loadOf(world: World, namespace: string, matches: (labels: Record<string, string>) => boolean): number {
  const autoscaler = world
    .all(HORIZONTAL_POD_AUTOSCALERS)
    .find(({ metadata, spec }) => metadata.namespace === namespace && matches({ app: spec.scaleTargetRef.name }));
  return Number(autoscaler?.metadata.annotations?.[LOAD] ?? 0);
}
