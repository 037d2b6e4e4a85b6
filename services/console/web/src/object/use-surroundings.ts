import type {
  Event,
  KubeObject,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  ResourceQuota,
} from '@gantry/objects';
import type { StatusError } from '@gantry/objects';
import { useMemo } from 'react';
import type { WorkloadSurroundings } from '../explain/rollout.ts';
import { useAllowedEach, useLive } from '../shell/console-context.ts';
import { objectFormat } from '../watch/formats.ts';
import type { Format } from '../watch/live-collection.ts';
import type { TabProps } from './use-object.ts';

/** Among thousands of pods, explanations take a part of a second: they follow changes this often at most. */
const PUBLISH_MS = 3_000;

interface Seen {
  readonly uid: string;
  readonly object: KubeObject;
}

const OBJECTS: Format<Seen> = objectFormat((object) => {
  const { managedFields: _fields, ...metadata } = object.metadata;
  return { uid: metadata.uid ?? '', object: { ...object, metadata } };
});
/** Of ConfigMaps and Secrets only the names are wanted. */
const METADATA: Format<Seen> = {
  ...OBJECTS,
  accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
};

interface Source {
  readonly group?: string;
  readonly resource: string;
  /** '': of the whole cluster. */
  readonly namespace: string;
  /** False: the explanation does without it. */
  readonly isWanted: boolean;
  readonly fieldSelector?: string;
  readonly format?: Format<Seen>;
}

interface Around<T> {
  /** Undefined: the user may not see them, or they have not come. */
  readonly items: readonly T[] | undefined;
  readonly isLoading: boolean;
  readonly isHidden: boolean;
  /** Why there is nothing new of them. */
  readonly error: StatusError | undefined;
  readonly resource: string;
}

/** All objects of a resource, live, as far as the user may list them. */
function useAround<T extends KubeObject>(source: Source): Around<T> {
  const { group = '', resource, namespace, isWanted, fieldSelector, format = OBJECTS } = source;
  const attempt = { verb: 'list', group, resource };
  const { may, isLoading } = useAllowedEach(isWanted ? [{ namespace, attempt }] : []);
  const isAllowed = isWanted && !isLoading && may({ namespace, attempt });
  const path = `${group === '' ? '/api/v1' : `/apis/${group}/v1`}${namespace === '' ? '' : `/namespaces/${namespace}`}/${resource}`;
  const query = useMemo<Record<string, string>>(
    () => Object.fromEntries(fieldSelector === undefined ? [] : [['fieldSelector', fieldSelector]]),
    [fieldSelector],
  );
  const view = useLive({ path, query, format, isEnabled: isAllowed, publishMs: PUBLISH_MS });
  const hasCome = isAllowed && view.resourceVersion !== undefined;
  const items = useMemo(
    () => (hasCome ? Array.from(view.rows.values(), ({ object }) => object as T) : undefined),
    [hasCome, view],
  );
  // With incomplete rules, only the server knows.
  const isRefused = isAllowed && view.error?.code === 403;
  return {
    items,
    isLoading: isLoading || (isAllowed && view.phase === 'listing'),
    isHidden: isRefused || (isWanted && !isLoading && !isAllowed),
    error: isAllowed && !isRefused ? view.error : undefined,
    resource,
  };
}

interface Surroundings {
  readonly around: Omit<WorkloadSurroundings, 'now' | 'events'>;
  /** The first explanation would be wrong: something has not come. */
  readonly isLoading: boolean;
  /** Resources that the user may not list. */
  readonly hidden: readonly string[];
  readonly broken: readonly Around<unknown>[];
}

/** What explains an object, live. Nodes and the pods of other namespaces are of use only for a pod without a node. */
export function useSurroundings({ kind, namespace, object }: TabProps): Surroundings {
  const isPod = kind.id === 'pods';
  const ofNamespace = { namespace, isWanted: true };
  const ofWorkload = { namespace, isWanted: !isPod };
  const fieldSelector = `involvedObject.uid=${object.metadata.uid ?? ''}`;
  const namespacePods = useAround<Pod>({ ...ofWorkload, resource: 'pods' });
  const explained = isPod ? [object as Pod] : (namespacePods.items ?? []);
  const forPlacement = { namespace: '', isWanted: explained.some(({ spec }) => (spec?.nodeName ?? '') === '') };
  const nodes = useAround<Node>({ ...forPlacement, resource: 'nodes' });
  const pods = useAround<Pod>({ ...forPlacement, resource: 'pods' });
  const volumes = useAround<PersistentVolume>({ ...forPlacement, resource: 'persistentvolumes' });
  const claims = useAround<PersistentVolumeClaim>({ ...ofNamespace, resource: 'persistentvolumeclaims' });
  const configMaps = useAround({ ...ofNamespace, resource: 'configmaps', format: METADATA });
  const secrets = useAround({ ...ofNamespace, resource: 'secrets', format: METADATA });
  const replicaSets = useAround<ReplicaSet>({ ...ofWorkload, group: 'apps', resource: 'replicasets' });
  const quotas = useAround<ResourceQuota>({ ...ofWorkload, resource: 'resourcequotas' });
  const events = useAround<Event>({ ...ofNamespace, resource: 'events', ...(isPod ? { fieldSelector } : {}) });
  const all = [nodes, pods, namespacePods, claims, volumes, configMaps, secrets, replicaSets, quotas, events];
  const around = useMemo(
    () => ({
      nodes: nodes.items,
      pods: pods.items,
      namespacePods: namespacePods.items ?? [],
      claims: claims.items,
      volumes: volumes.items,
      configMaps: namesOf(configMaps.items),
      secrets: namesOf(secrets.items),
      replicaSets: replicaSets.items ?? [],
      quotas: quotas.items,
      namespaceEvents: events.items ?? [],
    }),
    [
      nodes.items,
      pods.items,
      namespacePods.items,
      claims.items,
      volumes.items,
      configMaps.items,
      secrets.items,
      replicaSets.items,
      quotas.items,
      events.items,
    ],
  );
  return {
    around,
    isLoading: all.some(({ isLoading }) => isLoading),
    hidden: [...new Set(all.filter(({ isHidden }) => isHidden).map(({ resource }) => resource))],
    broken: all.filter(({ error }) => error !== undefined),
  };
}

function namesOf(objects: readonly KubeObject[] | undefined): ReadonlySet<string> | undefined {
  return objects && new Set(objects.map(({ metadata }) => metadata.name ?? ''));
}
