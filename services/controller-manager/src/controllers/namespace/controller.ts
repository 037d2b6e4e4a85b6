import { errorMessage } from '@gantry/base';
import { isReason, keyOf, type KubeObject, type Namespace, type ObjectKey, resources } from '@gantry/api';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  type Result,
  watchSelf,
  type WatchSpec,
} from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { NAMESPACES } from '../resources.ts';
import { type Action, type Content, planNamespaceDeletion } from './plan.ts';

/** What a namespace can hold. */
const CONTENT = resources.filter(
  ({ stored, namespaced, verbs }) => stored && namespaced && verbs.includes('list') && verbs.includes('delete'),
);
/** Told of by no event: another apiserver's create that was under way when the deletion began. */
const LOOK_AGAIN_MS = 2000;

/** Empties namespaces that are being deleted, pods first, and lets them go when nothing is left. Keys are namespaces. */
export const namespaceController: ControllerSpec = {
  name: 'namespace',
  eventSource: 'namespace-controller',
  watches: [watchSelf(NAMESPACES), ...CONTENT.filter(({ resource }) => resource !== 'events').map(watchContent)],
  reconcile,
};

/** What leaves a namespace that is going away, or changes in it, wakes its namespace. */
function watchContent(definition: (typeof CONTENT)[number]): WatchSpec {
  return {
    resource: definition,
    keys: (object, old, cache: Cache) => {
      const name = (object ?? old)?.metadata.namespace ?? '';
      const key = { namespace: '', name };
      return cache.get(NAMESPACES, key)?.metadata.deletionTimestamp === undefined ? [] : [key];
    },
  };
}

async function reconcile(key: ObjectKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const cached = context.cache.get<Namespace>(NAMESPACES, key);
  if (cached?.metadata.deletionTimestamp === undefined) return {};
  let failures: readonly string[] = [];
  // One that asks the pods to go, one for everything else, and one that sees what has gone.
  for (let round = 0; round < 3; round++) {
    const namespace = await ignoreNotFound(context.client.get<Namespace>(NAMESPACES, key, signal));
    if (namespace === undefined) return {};
    const content = await readContent(key.name, context, signal);
    const actions = planNamespaceDeletion({ namespace, content, failures }, context.clock.now());
    if (actions.length === 0) break;
    const failed: string[] = [];
    await executeActions(
      actions,
      (action) => execute(namespace, action, failed, context, signal),
      { pace: 'full' },
      signal,
    );
    failures = failed;
    if (actions.some(({ kind }) => kind === 'finalize')) return {};
  }
  return { requeueAfterMs: LOOK_AGAIN_MS };
}

async function readContent(
  namespace: string,
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<readonly Content[]> {
  return Promise.all(
    CONTENT.map(async ({ group, version, resource }) => {
      const { items } = await client.list<KubeObject>({ group, version, resource }, { namespace }, signal);
      return { group, resource, objects: items };
    }),
  );
}

async function execute(
  namespace: Namespace,
  action: Action,
  failures: string[],
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
        failures.push(`${resource}.${group}: ${errorMessage(error)}`);
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
