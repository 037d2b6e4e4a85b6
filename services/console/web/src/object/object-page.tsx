import { getRouteApi, Link } from '@tanstack/react-router';
import { type ComponentType, type ReactNode, Suspense, useEffect } from 'react';
import type { Kind } from '../api/kinds.ts';
import { kubectlOf, quote } from '../objects/kubectl.ts';
import { useAllowedEach, useConsole, useKind, useStaleVersions } from '../shell/console-context.ts';
import { lazyPart } from '../shell/lazy-part.ts';
import { Busy, Failure, Kubectl, UnknownKind } from '../shell/notices.tsx';
import { Actions } from './actions.tsx';
import { MAX_SOURCES } from '../logs/log-feed.ts';
import { askedFor, isPossible, PARTS } from './offers.ts';
import { Overview } from './overview.tsx';
import { type TabProps, useObject } from './use-object.ts';

const route = getRouteApi('/objects/$kind/$namespace/$name');

type Part = (typeof PARTS)[number];

interface PartView {
  readonly view: ComponentType<TabProps>;
  command(props: Omit<TabProps, 'object'>): string;
}

const describe: PartView['command'] = ({ kind, namespace, name }) => kubectlOf('describe', kind, namespace, name);

const VIEWS: Readonly<Record<Part['id'], PartView>> = {
  overview: { view: Overview, command: describe },
  why: { view: lazyPart(() => import('./why-tab.tsx'), 'WhyTab'), command: describe },
  logs: {
    view: lazyPart(() => import('../logs/logs-tab.tsx'), 'LogsTab'),
    command: ({ kind, namespace, name }) =>
      kind.id === 'pods'
        ? `kubectl logs -f ${quote(name)} -n ${quote(namespace)} --all-containers`
        : // Without it, kubectl follows five containers at most.
          `kubectl logs -f ${kind.id}/${quote(name)} -n ${quote(namespace)} --all-containers --all-pods --max-log-requests=${MAX_SOURCES}`,
  },
  terminal: {
    view: lazyPart(() => import('../terminal/terminal-tab.tsx'), 'TerminalTab'),
    command: ({ namespace, name }) => `kubectl exec -it ${quote(name)} -n ${quote(namespace)} -- sh`,
  },
  related: {
    view: lazyPart(() => import('./related-tab.tsx'), 'RelatedTab'),
    command: ({ namespace }) =>
      `kubectl get all,endpointslices,ingresses,configmaps,secrets,pvc -n ${quote(namespace)} -o yaml`,
  },
  events: {
    view: lazyPart(() => import('./events-tab.tsx'), 'EventsTab'),
    command: ({ kind, namespace, name }) =>
      `kubectl events --for ${kind.id}/${quote(name)}${namespace === '' ? '' : ` -n ${quote(namespace)}`}`,
  },
  yaml: {
    view: lazyPart(() => import('./yaml-tab.tsx'), 'YamlTab'),
    command: ({ kind, namespace, name }) => kubectlOf('edit', kind, namespace, name),
  },
  fields: {
    view: lazyPart(() => import('./fields-tab.tsx'), 'FieldsTab'),
    command: ({ kind, namespace, name }) => kubectlOf('get', kind, namespace, name, '-o yaml --show-managed-fields'),
  },
};

/** One object: what it is, what it belongs to, what happened to it, and what can be done with it. */
export function ObjectPage(): ReactNode {
  const { kind: id, namespace, name } = route.useParams();
  const kind = useKind(id);
  const stale = useStaleVersions(id);
  if (kind === undefined) return <UnknownKind id={id} stale={stale} />;
  const space = kind.isNamespaced ? namespace : '';
  return <LoadedObject key={`${id}/${space}/${name}`} kind={kind} namespace={space} name={name} />;
}

function LoadedObject({ kind, namespace, name }: Omit<TabProps, 'object'>): ReactNode {
  const { tab = 'overview' } = route.useSearch();
  const { object, isGone, error } = useObject(kind, namespace, name);
  const parts = useParts(kind, namespace, name);
  const current = parts?.find(({ id }) => id === tab) ?? parts?.[0];
  const shown = current && VIEWS[current.id];
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
      {shown === undefined ? null : <Kubectl command={shown.command({ kind, namespace, name })} />}
      {parts === undefined ? null : <TabLinks parts={parts} current={current?.id} />}
      {error === undefined ? null : <Failure error={error} what={name} />}
      {isGone ? <p className="notice waiting">There is no {kind.kind} of this name (any more).</p> : null}
      {object === undefined || current === undefined || shown === undefined ? (
        isGone || error !== undefined ? null : (
          <Busy what={name} />
        )
      ) : (
        <Suspense fallback={<Busy what={current.title} />}>
          <shown.view kind={kind} namespace={namespace} name={name} object={object} />
        </Suspense>
      )}
    </div>
  );
}

/** Those that the user may see; undefined until the rights are known, so that none moves under the pointer. */
function useParts(kind: Kind, namespace: string, name: string): readonly Part[] | undefined {
  const { at } = useConsole();
  const possible = PARTS.filter((part) => isPossible(part, kind, at));
  const asked = (part: Part) => askedFor(part, kind, namespace, name);
  const { may, isLoading } = useAllowedEach(possible.flatMap(asked));
  return isLoading ? undefined : possible.filter((part) => asked(part).every(may));
}

function TabLinks({
  parts,
  current,
}: {
  readonly parts: readonly Part[];
  readonly current: string | undefined;
}): ReactNode {
  return (
    <ul className="tabs" aria-label="Parts of the object">
      {parts.map(({ id, title }) => (
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
