import { formatTime } from '@gantry/base';
import { getRouteApi } from '@tanstack/react-router';
import { type ComponentType, lazy, type ReactNode, Suspense } from 'react';
import type { Attempt } from '../api/access.ts';
import { objectPath } from '../api/kinds.ts';
import { setUnschedulable } from '../actions/cordon.ts';
import { useAllowed, useConsole } from '../shell/console-context.ts';
import { RunError, useRun } from '../shell/dialog.tsx';
import type { TabProps } from './use-object.ts';

const route = getRouteApi('/objects/$kind/$namespace/$name');

type DialogView = ComponentType<TabProps & { readonly onClose: () => void }>;

interface Action {
  readonly id: string;
  readonly title: string;
  /** For which kinds; absent: for all. */
  readonly kinds?: readonly string[];
  readonly subresource?: string;
  readonly verb: string;
  /** What it does besides to other objects. */
  readonly also?: Attempt;
  readonly dialog: DialogView;
}

const ROLLED = ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps'];

/** Actions that ask something first; the address names the open one. */
const ACTIONS: readonly Action[] = [
  {
    id: 'scale',
    title: 'Scale',
    subresource: 'scale',
    verb: 'patch',
    dialog: lazy(() => import('../actions/scale-dialog.tsx').then(({ ScaleDialog }) => ({ default: ScaleDialog }))),
  },
  {
    id: 'roll-back',
    title: 'Roll back',
    kinds: ROLLED,
    verb: 'patch',
    dialog: lazy(() =>
      import('../actions/roll-back-dialog.tsx').then(({ RollBackDialog }) => ({ default: RollBackDialog })),
    ),
  },
  {
    id: 'drain',
    title: 'Drain',
    kinds: ['nodes'],
    verb: 'patch',
    also: { verb: 'create', group: '', resource: 'pods', subresource: 'eviction' },
    dialog: lazy(() => import('../actions/drain-dialog.tsx').then(({ DrainDialog }) => ({ default: DrainDialog }))),
  },
  {
    id: 'delete',
    title: 'Delete',
    verb: 'delete',
    dialog: lazy(() => import('../actions/delete-dialog.tsx').then(({ DeleteDialog }) => ({ default: DeleteDialog }))),
  },
];

/** Buttons for what the user may do with an object. */
export function Actions(props: TabProps): ReactNode {
  const { kind, namespace, name } = props;
  const { at } = useConsole();
  const { do: open } = route.useSearch();
  const navigate = route.useNavigate();
  const { run, isBusy, error } = useRun();
  const attempt = (verb: string, subresource?: string): Attempt => ({
    verb,
    group: kind.group,
    resource: kind.resource,
    name,
    ...(subresource === undefined ? {} : { subresource }),
  });
  const possible = ACTIONS.filter(
    ({ kinds, subresource, verb }) =>
      (kinds === undefined || kinds.includes(kind.id)) &&
      (subresource === undefined ? kind.verbs.includes(verb) : kind.subresources.includes(subresource)),
  );
  const { may } = useAllowed(namespace, [
    attempt('patch'),
    ...possible.flatMap(({ verb, subresource, also }) => [attempt(verb, subresource), ...(also ? [also] : [])]),
  ]);
  if (at !== undefined) return null;
  const show = (id: string | undefined) =>
    void navigate({ search: (old) => ({ ...old, do: id }), replace: id === undefined });
  const offered = possible.filter(
    ({ verb, subresource, also }) => may(attempt(verb, subresource)) && (also === undefined || may(also)),
  );
  const opened = offered.find(({ id }) => id === open);
  return (
    <div className="actions" role="group" aria-label="Actions">
      {may(attempt('patch')) ? <Simple {...props} run={run} isBusy={isBusy} /> : null}
      {offered.map(({ id, title }) => (
        <button key={id} type="button" className={id === 'delete' ? 'danger' : ''} onClick={() => show(id)}>
          {title}
        </button>
      ))}
      <RunError error={error} />
      {opened === undefined ? null : (
        <Suspense>
          {/* Another object of the same name is asked about anew. */}
          <opened.dialog key={props.object.metadata.uid} {...props} onClose={() => show(undefined)} />
        </Suspense>
      )}
    </div>
  );
}

type SimpleProps = TabProps & { readonly run: (work: () => Promise<void>) => void; readonly isBusy: boolean };

/** Actions that need no answer: their opposite, or doing them again, is one click away. */
function Simple({ kind, namespace, name, object, run, isBusy }: SimpleProps): ReactNode {
  const { api, clock } = useConsole();
  if (kind.id === 'nodes') {
    const isCordoned = object.spec?.['unschedulable'] === true;
    return (
      <button type="button" disabled={isBusy} onClick={() => run(() => setUnschedulable(api, name, !isCordoned))}>
        {isCordoned ? 'Uncordon' : 'Cordon'}
      </button>
    );
  }
  if (!ROLLED.includes(kind.id)) return null;
  const restart = async () => {
    const annotations = { 'kubectl.kubernetes.io/restartedAt': formatTime(clock.now()) };
    await api.fetch(`${objectPath(kind, namespace, name)}?fieldManager=gantry-console`, {
      method: 'PATCH',
      contentType: 'application/strategic-merge-patch+json',
      body: { spec: { template: { metadata: { annotations } } } },
    });
  };
  return (
    <button type="button" disabled={isBusy} onClick={() => run(restart)}>
      Restart
    </button>
  );
}
