import { errorMessage } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import type { Cache, ControllerContext } from '@gantry/controller-runtime';
import { findKind } from '@gantry/kinds';
import {
  controllerOf,
  CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS,
  type KubeObject,
  type OwnerReference,
  parseApiVersion,
  type Pod,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type Resource,
  STATEFUL_SETS,
} from '@gantry/objects';
import type { ControllerScale } from './expected-pods.ts';

type Scaled = KubeObject & { readonly spec?: { readonly replicas?: number } };

/** Built-in kinds with a scale, by `<group>/<kind>`. */
const SCALED: ReadonlyMap<string, Resource<Scaled>> = new Map<string, Resource<Scaled>>([
  ['/ReplicationController', REPLICATION_CONTROLLERS],
  ['apps/Deployment', DEPLOYMENTS],
  ['apps/ReplicaSet', REPLICA_SETS],
  ['apps/StatefulSet', STATEFUL_SETS],
]);

type ScaleContext = Pick<ControllerContext, 'cache' | 'client' | 'served'>;

/** The scales of the pods' controllers by uid, and the first read error. */
export async function readScales(
  pods: readonly Pod[],
  context: ScaleContext,
  signal: AbortSignal,
): Promise<{
  readonly scales: ReadonlyMap<string, ControllerScale>;
  readonly failed: { readonly error: unknown } | undefined;
}> {
  const scales = new Map<string, ControllerScale>();
  let failed: { readonly error: unknown } | undefined;
  for (const pod of pods) {
    const controller = controllerOf(pod);
    if (controller === undefined || scales.has(controller.uid)) continue;
    try {
      scales.set(controller.uid, await scaleOf(controller, pod.metadata.namespace ?? '', context, signal));
    } catch (error) {
      signal.throwIfAborted();
      failed ??= { error };
      scales.set(controller.uid, { error: errorMessage(error) });
    }
  }
  return { scales, failed };
}

async function scaleOf(
  controller: OwnerReference,
  namespace: string,
  context: ScaleContext,
  signal: AbortSignal,
): Promise<ControllerScale> {
  const { apiVersion, kind } = controller;
  const { group, version } = parseApiVersion(apiVersion);
  const known = SCALED.get(`${group}/${kind}`);
  if (known !== undefined) return builtInScale(controller, namespace, known, context.cache);
  const builtIn = findKind(group, version, kind);
  if (builtIn !== undefined) return notScalable(builtIn);
  const served = context.served.findKind(group, kind);
  if (served === undefined)
    return { error: `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}` };
  const definitionKey = { namespace: '', name: `${served.resource}.${group}` };
  const definition = context.cache.get(CUSTOM_RESOURCE_DEFINITIONS, definitionKey);
  const path = definition?.spec.versions.find(({ name }) => name === served.version)?.subresources?.scale
    ?.specReplicasPath;
  if (path === undefined) return notScalable(served);
  const owner = await ignoreNotFound(context.client.get(served, { namespace, name: controller.name }, signal));
  if (owner === undefined || owner.metadata.uid !== controller.uid) return 'none';
  return { uid: controller.uid, replicas: numberAt(owner, path) };
}

/** For a ReplicaSet of a Deployment, the Deployment's scale: during a rollout both sets count once. */
function builtInScale(
  { name, uid }: OwnerReference,
  namespace: string,
  resource: Resource<Scaled>,
  cache: Cache,
): ControllerScale {
  const owner = cache.get(resource, { namespace, name });
  if (owner === undefined || owner.metadata.uid !== uid) return 'none';
  const above = resource.kind === 'ReplicaSet' ? controllerOf(owner) : undefined;
  if (above?.kind === 'Deployment') {
    const deployment = cache.get(DEPLOYMENTS, { namespace, name: above.name });
    if (deployment?.metadata.uid === above.uid) return { uid: above.uid, replicas: deployment.spec?.replicas ?? 1 };
  }
  return { uid, replicas: owner.spec?.replicas ?? 1 };
}

function notScalable({ group, resource }: { readonly group: string; readonly resource: string }): ControllerScale {
  return { error: `${group === '' ? resource : `${resource}.${group}`} does not implement the scale subresource` };
}

/** The number at a path of a scale subresource, such as `.spec.replicas`; 0 when it is absent. */
function numberAt(object: KubeObject, path: string): number {
  let value: unknown = object;
  for (const name of path.split('.').slice(1)) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }
  return typeof value === 'number' ? value : 0;
}
