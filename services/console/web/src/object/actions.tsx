import { getRouteApi } from '@tanstack/react-router';
import { type ComponentType, lazy, type ReactNode, Suspense } from 'react';
import { useAllowedEach, useConsole } from '../shell/console-context.ts';
import { type Action, ACTIONS, askedFor, isPossible } from './offers.ts';
import type { TabProps } from './use-object.ts';

const route = getRouteApi('/objects/$kind/$namespace/$name');

type DialogView = ComponentType<TabProps & { readonly onClose: () => void }>;

const cordonDialogs = () => import('../actions/cordon-dialog.tsx');

/** Each asks first: an address that somebody has sent must change nothing. */
const DIALOGS: Readonly<Record<(typeof ACTIONS)[number]['id'], DialogView>> = {
  restart: lazy(() =>
    import('../actions/restart-dialog.tsx').then(({ RestartDialog }) => ({ default: RestartDialog })),
  ),
  cordon: lazy(() => cordonDialogs().then(({ CordonDialog }) => ({ default: CordonDialog }))),
  uncordon: lazy(() => cordonDialogs().then(({ UncordonDialog }) => ({ default: UncordonDialog }))),
  scale: lazy(() => import('../actions/scale-dialog.tsx').then(({ ScaleDialog }) => ({ default: ScaleDialog }))),
  'roll-back': lazy(() =>
    import('../actions/roll-back-dialog.tsx').then(({ RollBackDialog }) => ({ default: RollBackDialog })),
  ),
  drain: lazy(() => import('../actions/drain-dialog.tsx').then(({ DrainDialog }) => ({ default: DrainDialog }))),
  debug: lazy(() => import('../terminal/debug-dialog.tsx').then(({ DebugDialog }) => ({ default: DebugDialog }))),
  copy: lazy(() => import('../terminal/copy-dialog.tsx').then(({ CopyDialog }) => ({ default: CopyDialog }))),
  delete: lazy(() => import('../actions/delete-dialog.tsx').then(({ DeleteDialog }) => ({ default: DeleteDialog }))),
};

/** Buttons for what the user may do with an object. The address names the open dialog. */
export function Actions(props: TabProps): ReactNode {
  const { kind, namespace, name, object } = props;
  const { at } = useConsole();
  const { do: open } = route.useSearch();
  const navigate = route.useNavigate();
  const possible = ACTIONS.filter((action) => isPossible(action, kind, at));
  const asked = (action: Action) => askedFor(action, kind, namespace, name);
  const { may } = useAllowedEach(possible.flatMap(asked));
  if (at !== undefined) return null;
  const allowed = possible.filter((action) => asked(action).every(may));
  const useful = allowed.filter(({ isUseful }: Action) => isUseful === undefined || isUseful(object));
  const show = (id: string | undefined) =>
    void navigate({ search: (old) => ({ ...old, do: id }), replace: id === undefined });
  const opened = allowed.find(({ id }) => id === open);
  const OpenDialog = opened && DIALOGS[opened.id];
  return (
    <div className="actions" role="group" aria-label="Actions">
      {useful.map(({ id, title }) => (
        <button key={id} type="button" className={id === 'delete' ? 'danger' : ''} onClick={() => show(id)}>
          {title}
        </button>
      ))}
      {OpenDialog === undefined ? null : (
        <Suspense>
          {/* Another object of the same name is asked about anew. */}
          <OpenDialog key={object.metadata.uid} {...props} onClose={() => show(undefined)} />
        </Suspense>
      )}
    </div>
  );
}
