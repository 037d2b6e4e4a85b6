import { errorMessage } from '@gantry/base';
import {
  isReason,
  keyOf,
  type KubeObject,
  type Namespace,
  type ObjectKey,
  type ResourceRef,
  resources,
} from '@gantry/api';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  type Result,
  type ServedResource,
  watchSelf,
  type WatchSpec,
} from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { NAMESPACES } from '../resources.ts';
import { type Action, type Content, type ObservedNamespace, planNamespaceDeletion } from './plan.ts';

/** What a namespace can hold of built-in resources, each in one version. */
const CONTENT = resources.filter(
  ({ stored, storage, ...of }) => stored && storage?.group !== of.group && isContent(of),
);
const PODS = CONTENT.filter(({ group, resource }) => group === '' && resource === 'pods');
/** Told of by no event: another apiserver's create that was under way when the deletion began. */
const LOOK_AGAIN_MS = 2000;

/** Empties namespaces that are being deleted, pods first, and lets them go when nothing is left. Keys are namespaces. */
export const namespaceController: ControllerSpec = {
  name: 'namespace',
  eventSource: 'namespace-controller',
  watches: [watchSelf(NAMESPACES), ...CONTENT.filter(({ resource }) => resource !== 'events').map(watchContent)],
  served: {
    wants: isContent,
    keys: (_resource, object, old, cache) => emptiedKeys(object, old, cache),
    shift: () => [],
  },
  reconcile,
};

function isContent({ namespaced, verbs }: Pick<ServedResource, 'namespaced' | 'verbs'>): boolean {
  return namespaced && verbs.includes('list') && verbs.includes('delete');
}

function watchContent(resource: ResourceRef): WatchSpec {
  return { resource, keys: emptiedKeys };
}

/** What leaves a namespace that is going away, or changes in it, wakes its namespace. */
function emptiedKeys(object: KubeObject | undefined, old: KubeObject | undefined, cache: Cache): readonly ObjectKey[] {
  const name = (object ?? old)?.metadata.namespace ?? '';
  const key = { namespace: '', name };
  return cache.get(NAMESPACES, key)?.metadata.deletionTimestamp === undefined ? [] : [key];
}

async function reconcile(key: ObjectKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const cached = context.cache.get<Namespace>(NAMESPACES, key);
  if (cached?.metadata.deletionTimestamp === undefined) return {};
  // What other servers serve may have changed since they were asked last.
  await context.served.refresh(signal);
  let failures: readonly string[] = [];
  // One that asks the pods to go, one for everything else, and one that sees what has gone.
  for (let round = 0; round < 3; round++) {
    const namespace = await ignoreNotFound(context.client.get<Namespace>(NAMESPACES, key, signal));
    if (namespace === undefined) return {};
    const read = await readContent(key.name, context, signal);
    const undiscovered = context.served.failures();
    const actions = planNamespaceDeletion({ namespace, ...read, undiscovered, failures }, context.clock.now());
    if (actions.length === 0) break;
    const failed = new Map<string, string>();
    await executeActions(
      actions,
      (action) => execute(namespace, action, failed, context, signal),
      { pace: 'full' },
      signal,
    );
    failures = [...failed.values()];
    if (actions.some(({ kind }) => kind === 'finalize')) return {};
  }
  return { requeueAfterMs: LOOK_AGAIN_MS };
}

type Read = Pick<ObservedNamespace, 'content' | 'unread'>;

/** What is in a namespace; nothing but its pods as long as there are any. */
async function readContent(namespace: string, context: ControllerContext, signal: AbortSignal): Promise<Read> {
  const pods = await readAll(PODS, namespace, context, signal);
  if (pods.unread.length > 0 || pods.content.some(({ objects }) => objects.length > 0)) return pods;
  const others = CONTENT.filter((of) => !PODS.includes(of));
  return readAll([...others, ...context.served.list().filter(isContent)], namespace, context, signal);
}

async function readAll(
  all: readonly ResourceRef[],
  namespace: string,
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<Read> {
  const content: Content[] = [];
  const unread: string[] = [];
  const read = async ({ group, version, resource }: ResourceRef): Promise<void> => {
    const options = { namespace, metadataOnly: true };
    try {
      const { items } = await client.list<KubeObject>({ group, version, resource }, options, signal);
      content.push({ group, resource, objects: items });
    } catch (error) {
      signal.throwIfAborted();
      // Not served any more, or never was.
      if (!isReason(error, 'NotFound') && !isReason(error, 'MethodNotAllowed')) unread.push(errorMessage(error));
    }
  };
  await Promise.all(all.map(read));
  return { content, unread };
}

async function execute(
  namespace: Namespace,
  action: Action,
  failed: Map<string, string>,
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(namespace);
  switch (action.kind) {
    case 'deleteContent': {
      const { group, resource, object } = action;
      const version = object.apiVersion.split('/').at(-1) ?? '';
      const { uid } = object.metadata;
      const options = { propagationPolicy: 'Background', preconditions: uid === undefined ? {} : { uid } } as const;
      try {
        await ignoreNotFound(
          client.write({ verb: 'delete', resource: { group, version, resource }, key: keyOf(object), options }, signal),
        );
      } catch (error) {
        signal.throwIfAborted();
        // It has gone, and its name is another's by now, which the next round finds.
        if (isReason(error, 'Conflict')) break;
        failed.set(`${resource}.${group}`, errorMessage(error));
      }
      break;
    }
    case 'updateStatus': {
      const object: Namespace = { ...namespace, status: action.status };
      await ignoreNotFound(
        client.write({ verb: 'update', resource: NAMESPACES, key, object, subresource: 'status' }, signal),
      );
      break;
    }
    case 'finalize': {
      const object: Namespace = { ...namespace, spec: { ...namespace.spec, finalizers: [...action.finalizers] } };
      await ignoreNotFound(
        client.write({ verb: 'update', resource: NAMESPACES, key, object, subresource: 'finalize' }, signal),
      );
      break;
    }
  }
}
