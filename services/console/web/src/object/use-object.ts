import type { KubeObject } from '@gantry/objects';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { apiVersionOf, collectionPath, type Kind, objectPath } from '../api/kinds.ts';
import { useConsole, useLive } from '../shell/console-context.ts';
import { objectFormat } from '../watch/formats.ts';

/** Any object, with the parts that most kinds have. */
export interface AnyObject extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

/** What each tab and each action of an object gets. */
export interface TabProps {
  readonly kind: Kind;
  /** '' of objects of cluster scope. */
  readonly namespace: string;
  readonly name: string;
  readonly object: AnyObject;
}

interface Found {
  readonly object: AnyObject | undefined;
  /** It was there, or was looked for, and is not there now. */
  readonly isGone: boolean;
  readonly error: unknown;
}

const FORMAT = objectFormat((object) => ({ uid: object.metadata.uid ?? '', object: object as AnyObject }));

/** One object, live. Who may get but not watch it sees it as it was some seconds ago. */
export function useObject(kind: Kind, namespace: string, name: string): Found {
  const { api, at } = useConsole();
  const query = useMemo(() => ({ fieldSelector: `metadata.name=${name}` }), [name]);
  const { rows, phase, error } = useLive({ path: collectionPath(kind, namespace), query, format: FORMAT });
  const mayNotList = error?.code === 403 || error?.code === 405;
  const polled = useQuery({
    queryKey: ['object', kind.id, namespace, name],
    enabled: mayNotList && at === undefined,
    queryFn: ({ signal }) => api.json<AnyObject>(objectPath(kind, namespace, name), { signal }),
    refetchInterval: 5_000,
  });
  const found = mayNotList ? polled.data : rows.values().next().value?.object;
  // Items of lists do not say of which kind they are.
  const object = useMemo(() => found && { ...found, apiVersion: apiVersionOf(kind), kind: kind.kind }, [found, kind]);
  if (mayNotList) return { object, isGone: false, error: polled.error ?? undefined };
  return { object, isGone: object === undefined && phase === 'live', error: object === undefined ? error : undefined };
}
