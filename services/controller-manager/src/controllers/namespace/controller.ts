import { errorMessage } from '@gantry/base';
import { resources } from '@gantry/kinds';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  isReason,
  keyOf,
  type KubeObject,
  type Namespace,
  NAMESPACES,
  type ObjectKey,
  type Resource,
} from '@gantry/objects';
import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  customResource,
  executeActions,
  groupResource,
  isEmptied,
  type Result,
  resultOf,
  type ServedResource,
  watchSelf,
  type WatchSpec,
} from '@gantry/controller-runtime';
import { type Action, type Content, holdsOthers, type ObservedNamespace, planNamespaceDeletion } from './plan.ts';

/** The built-in namespaced resources, each in one version. */
const CONTENT = resources.filter(
  ({ stored, storage, ...of }) => stored && storage?.group !== of.group && isContent(of),
);
const PODS = CONTENT.filter(({ group, resource }) => group === '' && resource === 'pods');

/** Deletes the content of namespaces that are being deleted, pods first, and finalizes empty ones. Keys are namespaces. */
export const namespaceController: ControllerSpec = {
  name: 'namespace',
  eventSource: 'namespace-controller',
  watches: [watchSelf(NAMESPACES), ...CONTENT.filter(({ resource }) => resource !== 'events').map(watchContent)],
  served: {
    wants: isContent,
    keys: (_resource, object, old, cache) => emptiedKeys(object, old, cache),
    onSync: () => [],
  },
  reconcile,
};

function isContent({ namespaced, verbs }: Pick<ServedResource, 'namespaced' | 'verbs'>): boolean {
  return namespaced && verbs.includes('list') && verbs.includes('delete');
}

function watchContent(resource: Resource): WatchSpec {
  return { resource, keys: emptiedKeys };
}

/** Queues the namespace of an object that changes in, or is deleted from, a terminating namespace. */
function emptiedKeys(object: KubeObject | undefined, old: KubeObject | undefined, cache: Cache): readonly ObjectKey[] {
  const name = (object ?? old)?.metadata.namespace ?? '';
  const key = { namespace: '', name };
  return cache.get(NAMESPACES, key)?.metadata.deletionTimestamp === undefined ? [] : [key];
}

async function reconcile(key: ObjectKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const { cache, client, clock, served } = context;
  const cached = cache.get(NAMESPACES, key);
  if (cached?.metadata.deletionTimestamp === undefined) return {};
  // Resources of aggregated servers may have changed since the last discovery.
  await served.refresh(signal);
  let failures: readonly string[] = [];
  let result: Result = {};
  // The first round deletes the pods, the second everything else, the third checks what is left.
  for (let round = 0; round < 3; round++) {
    const namespace = await ignoreNotFound(client.get(NAMESPACES, key, signal));
    if (namespace === undefined) return {};
    const read = await readContent(key.name, context, signal);
    const undiscovered = served.failures();
    const plan = planNamespaceDeletion({ namespace, ...read, undiscovered, failures }, clock.now());
    result = resultOf(plan, clock);
    if (plan.actions.length === 0) break;
    const failed = new Map<string, string>();
    const carryOut = (action: Action) => execute(namespace, action, failed, client, signal);
    await executeActions(plan.actions, carryOut, { pace: 'full' }, signal);
    failures = [...failed.values()];
    if (plan.actions.some(({ kind }) => kind === 'finalize')) return {};
  }
  return result;
}

type Read = Pick<ObservedNamespace, 'content' | 'unread'>;

/** The content of a namespace; only its pods while any of them must be deleted first. */
async function readContent(namespace: string, context: ControllerContext, signal: AbortSignal): Promise<Read> {
  const pods = await readAll(PODS, namespace, context, signal);
  if (pods.unread.length > 0 || pods.content.some(({ objects }) => objects.some(holdsOthers))) return pods;
  const others = CONTENT.filter((of) => !PODS.includes(of));
  const rest = await readAll([...others, ...(await servedContent(context, signal))], namespace, context, signal);
  return { content: [...pods.content, ...rest.content], unread: rest.unread };
}

/**
 * The custom and aggregated resources that a namespace may contain. Definitions are read from the store: the cache may be older than the
 * namespace's deletion, and an object of an unseen definition may have been created before that.
 */
async function servedContent(
  { client, served }: ControllerContext,
  signal: AbortSignal,
): Promise<readonly ServedResource[]> {
  const found = new Map(served.list().map((resource) => [groupResource(resource), resource]));
  const { items } = await client.list(CUSTOM_RESOURCE_DEFINITIONS, {}, signal);
  for (const crd of items.filter((one) => !isEmptied(one))) {
    const resource = customResource(crd);
    if (resource !== undefined && !found.has(groupResource(resource))) found.set(groupResource(resource), resource);
  }
  return [...found.values()].filter(isContent);
}

async function readAll(
  all: readonly Resource[],
  namespace: string,
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<Read> {
  const content: Content[] = [];
  const unread: string[] = [];
  const read = async (of: Resource): Promise<void> => {
    const options = { namespace, metadataOnly: true };
    try {
      const { items } = await client.list(of, options, signal);
      content.push({ group: of.group, resource: of.resource, objects: items });
    } catch (error) {
      signal.throwIfAborted();
      // NotFound does not prove absence: an apiserver may not serve a definition yet, or an older version of it.
      if (!isReason(error, 'MethodNotAllowed')) unread.push(errorMessage(error));
    }
  };
  await Promise.all(all.map(read));
  return { content, unread };
}

async function execute(
  namespace: Namespace,
  action: Action,
  failed: Map<string, string>,
  client: ObjectClient,
  signal: AbortSignal,
): Promise<void> {
  switch (action.kind) {
    case 'deleteContent': {
      const { group, resource, object } = action;
      const version = object.apiVersion.split('/').at(-1) ?? '';
      const of: Resource = { group, version, resource, kind: object.kind, namespaced: true };
      const request = { propagationPolicy: 'Background', uid: object.metadata.uid } as const;
      try {
        await ignoreNotFound(client.delete(of, keyOf(object), request, signal));
      } catch (error) {
        signal.throwIfAborted();
        // A new object has the name; the next round finds it.
        if (isReason(error, 'Conflict')) break;
        failed.set(`${resource}.${group}`, errorMessage(error));
      }
      break;
    }
    case 'updateStatus': {
      const object: Namespace = { ...namespace, status: action.status };
      await ignoreNotFound(client.updateStatus(NAMESPACES, object, signal));
      break;
    }
    case 'finalize': {
      const object: Namespace = { ...namespace, spec: { ...namespace.spec, finalizers: [...action.finalizers] } };
      await ignoreNotFound(client.updateSubresource(NAMESPACES, 'finalize', object, signal));
      break;
    }
  }
}
