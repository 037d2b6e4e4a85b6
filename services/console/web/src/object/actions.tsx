import { getRouteApi } from '@tanstack/react-router';
import { type ComponentType, type ReactNode, Suspense } from 'react';
import { useAllowedEach, useConsole } from '../shell/console-context.ts';
import { lazyPart } from '../shell/lazy-part.ts';
import { type Action, ACTIONS, askedFor, isPossible } from './offers.ts';
import type { TabProps } from './use-object.ts';

const route = getRouteApi('/objects/$kind/$namespace/$name');

type DialogView = ComponentType<TabProps & { readonly onClose: () => void }>;

/** Each asks first: an address that somebody has sent must change nothing. */
const DIALOGS: Readonly<Record<(typeof ACTIONS)[number]['id'], DialogView>> = {
  restart: lazyPart(() => import('../actions/restart-dialog.tsx'), 'RestartDialog'),
  cordon: lazyPart(() => import('../actions/cordon-dialog.tsx'), 'CordonDialog'),
  uncordon: lazyPart(() => import('../actions/cordon-dialog.tsx'), 'UncordonDialog'),
  scale: lazyPart(() => import('../actions/scale-dialog.tsx'), 'ScaleDialog'),
  'roll-back': lazyPart(() => import('../actions/roll-back-dialog.tsx'), 'RollBackDialog'),
  drain: lazyPart(() => import('../actions/drain-dialog.tsx'), 'DrainDialog'),
  debug: lazyPart(() => import('../terminal/debug-dialog.tsx'), 'DebugDialog'),
  copy: lazyPart(() => import('../terminal/copy-dialog.tsx'), 'CopyDialog'),
  delete: lazyPart(() => import('../actions/delete-dialog.tsx'), 'DeleteDialog'),
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
