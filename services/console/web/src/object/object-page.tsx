import { getRouteApi, Link } from '@tanstack/react-router';
import { type ComponentType, lazy, type ReactNode, Suspense, useEffect } from 'react';
import type { Kind } from '../api/kinds.ts';
import { allows, type Attempt } from '../api/access.ts';
import { kubectlOf, quote } from '../objects/kubectl.ts';
import { useConsole, useKind, useRules } from '../shell/console-context.ts';
import { Busy, Failure, Kubectl } from '../shell/notices.tsx';
import { Actions } from './actions.tsx';
import { Overview } from './overview.tsx';
import { type TabProps, useObject } from './use-object.ts';

const route = getRouteApi('/objects/$kind/$namespace/$name');

interface Tab {
  readonly id: string;
  readonly title: string;
  readonly view: ComponentType<TabProps>;
  /** For which kinds; absent: for all. */
  readonly kinds?: readonly string[];
  /** Only for objects of namespaces. */
  readonly isNamespaced?: boolean;
  /** What the user must be allowed to do. */
  readonly needs?: Omit<Attempt, 'name'>;
  /** It shows what is, not what was. */
  readonly isOfNow?: boolean;
  command(props: Omit<TabProps, 'object'>): string;
}

const LOGGED = ['pods', 'deployments.apps', 'replicasets.apps', 'statefulsets.apps', 'daemonsets.apps', 'jobs.batch'];
const EXPLAINED = LOGGED.filter((id) => id !== 'jobs.batch');
const POD_LOG = { verb: 'get', group: '', resource: 'pods', subresource: 'log' };
const POD_EXEC = { verb: 'create', group: '', resource: 'pods', subresource: 'exec' };

const TABS: readonly Tab[] = [
  {
    id: 'overview',
    title: 'Overview',
    view: Overview,
    command: ({ kind, namespace, name }) => kubectlOf('describe', kind, namespace, name),
  },
  {
    id: 'why',
    title: 'Why',
    view: lazy(() => import('./why-tab.tsx').then(({ WhyTab }) => ({ default: WhyTab }))),
    kinds: EXPLAINED,
    isOfNow: true,
    command: ({ kind, namespace, name }) => kubectlOf('describe', kind, namespace, name),
  },
  {
    id: 'logs',
    title: 'Logs',
    view: lazy(() => import('../logs/logs-tab.tsx').then(({ LogsTab }) => ({ default: LogsTab }))),
    kinds: LOGGED,
    needs: POD_LOG,
    isOfNow: true,
    command: ({ kind, namespace, name }) =>
      `kubectl logs -f ${kind.id === 'pods' ? '' : `${kind.id}/`}${quote(name)} -n ${quote(namespace)} --all-containers${kind.id === 'pods' ? '' : ' --all-pods'}`,
  },
  {
    id: 'terminal',
    title: 'Terminal',
    view: lazy(() => import('../terminal/terminal-tab.tsx').then(({ TerminalTab }) => ({ default: TerminalTab }))),
    kinds: ['pods'],
    needs: POD_EXEC,
    isOfNow: true,
    command: ({ namespace, name }) => `kubectl exec -it ${quote(name)} -n ${quote(namespace)} -- sh`,
  },
  {
    id: 'related',
    title: 'Related',
    view: lazy(() => import('./related-tab.tsx').then(({ RelatedTab }) => ({ default: RelatedTab }))),
    isNamespaced: true,
    command: ({ namespace }) =>
      `kubectl get all,endpointslices,ingresses,configmaps,secrets,pvc -n ${quote(namespace)} -o yaml`,
  },
  {
    id: 'events',
    title: 'Events',
    view: lazy(() => import('./events-tab.tsx').then(({ EventsTab }) => ({ default: EventsTab }))),
    needs: { verb: 'list', group: '', resource: 'events' },
    command: ({ kind, namespace, name }) =>
      `kubectl events --for ${kind.id}/${quote(name)}${namespace === '' ? '' : ` -n ${quote(namespace)}`}`,
  },
  {
    id: 'yaml',
    title: 'YAML',
    view: lazy(() => import('./yaml-tab.tsx').then(({ YamlTab }) => ({ default: YamlTab }))),
    command: ({ kind, namespace, name }) => kubectlOf('edit', kind, namespace, name),
  },
  {
    id: 'fields',
    title: 'Fields',
    view: lazy(() => import('./fields-tab.tsx').then(({ FieldsTab }) => ({ default: FieldsTab }))),
    command: ({ kind, namespace, name }) => kubectlOf('get', kind, namespace, name, '-o yaml --show-managed-fields'),
  },
];

/** One object: what it is, what it belongs to, what happened to it, and what can be done with it. */
export function ObjectPage(): ReactNode {
  const { kind: id, namespace, name } = route.useParams();
  const kind = useKind(id);
  if (kind === undefined)
    return (
      <div className="page">
        <h1>{id}</h1>
        <p>The server has no resource of this name, or none that can be listed.</p>
      </div>
    );
  const space = kind.isNamespaced ? namespace : '';
  return <LoadedObject key={`${id}/${space}/${name}`} kind={kind} namespace={space} name={name} />;
}

function LoadedObject({ kind, namespace, name }: Omit<TabProps, 'object'>): ReactNode {
  const { tab = 'overview' } = route.useSearch();
  const { object, isGone, error } = useObject(kind, namespace, name);
  const tabs = useTabs(kind, namespace, name);
  const current = tabs?.find(({ id }) => id === tab) ?? tabs?.[0];
  useEffect(() => {
    document.title = `${name} · ${kind.kind} · Gantry`;
  }, [name, kind]);
  return (
    <div className="page fill">
      <div className="heading">
        <h1>
          <Link to="/objects/$kind" params={{ kind: kind.id }} className="muted">
            {kind.kind}
          </Link>{' '}
          {namespace === '' ? '' : <span className="muted">{namespace}/</span>}
          {name}
        </h1>
        {object === undefined ? null : <Actions kind={kind} namespace={namespace} name={name} object={object} />}
      </div>
      {current === undefined ? null : <Kubectl command={current.command({ kind, namespace, name })} />}
      {tabs === undefined ? null : <TabLinks tabs={tabs} current={current?.id} />}
      {error === undefined ? null : <Failure error={error} what={name} />}
      {isGone ? <p className="notice waiting">There is no {kind.kind} of this name (any more).</p> : null}
      {object === undefined || current === undefined ? (
        isGone || error !== undefined ? null : (
          <Busy what={name} />
        )
      ) : (
        <Suspense fallback={<Busy what={current.title} />}>
          <current.view kind={kind} namespace={namespace} name={name} object={object} />
        </Suspense>
      )}
    </div>
  );
}

/** Those that the user may see; undefined until the rules are known, so that none moves under the pointer. */
function useTabs(kind: Kind, namespace: string, name: string): readonly Tab[] | undefined {
  const rules = useRules(namespace === '' ? 'default' : namespace);
  const { at } = useConsole();
  if (rules.isLoading === true) return undefined;
  return TABS.filter(
    ({ kinds, needs, isOfNow, isNamespaced }) =>
      (kinds === undefined || kinds.includes(kind.id)) &&
      (isNamespaced !== true || kind.isNamespaced) &&
      (needs === undefined || allows(rules, { ...needs, ...(kind.id === 'pods' ? { name } : {}) })) &&
      !(isOfNow === true && at !== undefined),
  );
}

function TabLinks({
  tabs,
  current,
}: {
  readonly tabs: readonly Tab[];
  readonly current: string | undefined;
}): ReactNode {
  return (
    <ul className="tabs" aria-label="Parts of the object">
      {tabs.map(({ id, title }) => (
        <li key={id}>
          <Link
            from="/objects/$kind/$namespace/$name"
            to="."
            search={(old) => ({ ns: old.ns, at: old.at, tab: id === 'overview' ? undefined : id })}
            activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}
            data-current={id === current}
          >
            {title}
          </Link>
        </li>
      ))}
    </ul>
  );
}
