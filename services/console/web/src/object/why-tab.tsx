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
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { allows, type Rules } from '../api/access.ts';
import type { Api } from '../api/http.ts';
import type { Finding } from '../explain/finding.ts';
import { explainPod } from '../explain/pod.ts';
import { explainWorkload } from '../explain/rollout.ts';
import { useConsole, useNow, useRules } from '../shell/console-context.ts';
import { Busy, Failure } from '../shell/notices.tsx';
import { Scheduling } from './scheduling.tsx';
import type { TabProps } from './use-object.ts';

const REFRESH_MS = 3_000;
/** Of ConfigMaps and Secrets only the names are wanted. */
const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

/** Why the object is as it is, in sentences. */
export function WhyTab(props: TabProps): ReactNode {
  const { kind, namespace, name, object } = props;
  const { api } = useConsole();
  const rules = useRules(namespace);
  const now = useNow(REFRESH_MS);
  const { data, error } = useQuery({
    queryKey: ['why', namespace, rules],
    enabled: rules.isLoading !== true,
    queryFn: ({ signal }) => readSurroundings(api, namespace, rules, signal),
    refetchInterval: REFRESH_MS,
  });
  const findings = useMemo((): readonly Finding[] | undefined => {
    if (data === undefined) return undefined;
    const { uid } = object.metadata;
    const events = data.namespaceEvents.filter(({ involvedObject }) => involvedObject?.uid === uid);
    const around = { ...data, now, events };
    return kind.id === 'pods' ? explainPod(object as Pod, around) : explainWorkload(object, around);
  }, [data, object, kind, now]);
  if (findings === undefined)
    return error ? <Failure error={error} what="what is around it" /> : <Busy what="what is around it" />;
  return (
    <>
      <ul className="findings" aria-live="polite">
        {findings.map(({ tone, text, details = [] }) => (
          <li key={text} data-tone={tone}>
            {text}
            {details.length === 0 ? null : (
              <ul>
                {details
                  .filter((line) => line !== '')
                  .map((line) => (
                    <li key={line}>{line}</li>
                  ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
      {kind.id === 'pods' ? <Scheduling namespace={namespace} pod={name} /> : null}
      {data === undefined || data.hidden.length === 0 ? null : (
        <p className="muted">Without {data.hidden.join(', ')}, which you may not list.</p>
      )}
    </>
  );
}

async function readSurroundings(api: Api, namespace: string, rules: Rules, signal: AbortSignal) {
  const hidden: string[] = [];
  const space = `/namespaces/${namespace}`;
  const read = async <T extends KubeObject>(
    group: string,
    resource: string,
    path: string,
    accept = 'application/json',
  ): Promise<readonly T[] | undefined> => {
    if (allows(rules, { verb: 'list', group, resource })) {
      const root = group === '' ? '/api/v1' : `/apis/${group}/v1`;
      try {
        return (await api.json<{ items: readonly T[] }>(`${root}${path}`, { accept, signal })).items;
      } catch (error) {
        // Rules of a namespace do not say whether they hold for all of them.
        if (!(error instanceof Error && 'code' in error && error.code === 403)) throw error;
      }
    }
    hidden.push(resource);
    return undefined;
  };
  const names = (items: readonly KubeObject[] | undefined) =>
    items && new Set(items.map(({ metadata }) => metadata.name ?? ''));
  const [nodes, pods, namespacePods, claims, volumes, configMaps, secrets, replicaSets, quotas, namespaceEvents] =
    await Promise.all([
      read<Node>('', 'nodes', '/nodes'),
      read<Pod>('', 'pods', '/pods'),
      read<Pod>('', 'pods', `${space}/pods`),
      read<PersistentVolumeClaim>('', 'persistentvolumeclaims', `${space}/persistentvolumeclaims`),
      read<PersistentVolume>('', 'persistentvolumes', '/persistentvolumes'),
      read('', 'configmaps', `${space}/configmaps`, METADATA),
      read('', 'secrets', `${space}/secrets`, METADATA),
      read<ReplicaSet>('apps', 'replicasets', `${space}/replicasets`),
      read<ResourceQuota>('', 'resourcequotas', `${space}/resourcequotas`),
      read<Event>('', 'events', `${space}/events`),
    ]);
  return {
    nodes,
    pods,
    namespacePods: namespacePods ?? [],
    claims,
    volumes,
    configMaps: names(configMaps),
    secrets: names(secrets),
    replicaSets: replicaSets ?? [],
    quotas,
    namespaceEvents: namespaceEvents ?? [],
    hidden: [...new Set(hidden)],
  };
}
