import type { ControllerRevision, Deployment, ReplicaSet } from '@gantry/objects';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { stringify } from 'yaml';
import { objectPath } from '../api/kinds.ts';
import type { TabProps } from '../object/use-object.ts';
import { kubectlOf } from '../objects/kubectl.ts';
import { useConsole } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Busy, Failure, Kubectl } from '../shell/notices.tsx';
import { controllerRevisions, deploymentRevisions, type Revision } from './revisions.ts';

const DiffView = lazy(() => import('../editor/diff-view.tsx').then(({ DiffView }) => ({ default: DiffView })));

function useRevisions({ kind, namespace, object }: TabProps) {
  const { api } = useConsole();
  return useQuery({
    queryKey: ['revisions', kind.id, object.metadata.uid, object.metadata.resourceVersion],
    queryFn: async ({ signal }): Promise<readonly Revision[]> => {
      const root = `/apis/apps/v1/namespaces/${namespace}`;
      if (kind.id === 'deployments.apps') {
        const { items } = await api.json<{ items: readonly ReplicaSet[] }>(`${root}/replicasets`, { signal });
        return deploymentRevisions(object as Deployment, items);
      }
      const { items } = await api.json<{ items: readonly ControllerRevision[] }>(`${root}/controllerrevisions`, {
        signal,
      });
      return controllerRevisions(object, items);
    },
  });
}

/** Goes back to an earlier revision, after a look at the difference. */
export function RollBackDialog({ onClose, ...props }: TabProps & { readonly onClose: () => void }): ReactNode {
  const { kind, namespace, name, object } = props;
  const { api } = useConsole();
  const { data: revisions, error } = useRevisions(props);
  const { run, isBusy, error: failure } = useRun();
  const [number, setNumber] = useState<number>();
  const present = { template: object.spec?.['template'] };
  const chosen =
    revisions?.find((revision) => revision.number === number) ?? revisions?.find(({ isCurrent }) => !isCurrent);
  const rollBack = async (revision: Revision) => {
    const body = [
      { op: 'test', path: '/metadata/resourceVersion', value: object.metadata.resourceVersion },
      { op: 'replace', path: '/spec/template', value: revision.template },
    ];
    const path = `${objectPath(kind, namespace, name)}?fieldManager=gantry-console`;
    await api.fetch(path, { method: 'PATCH', contentType: 'application/json-patch+json', body });
    onClose();
  };
  return (
    <Dialog title={`Roll back ${name}`} onClose={onClose} className="wide">
      {error ? <Failure error={error} what="the revisions" /> : null}
      {revisions === undefined && !error ? <Busy what="the revisions" /> : null}
      {revisions !== undefined && chosen === undefined ? <p>There is no other revision.</p> : null}
      {revisions === undefined || chosen === undefined ? null : (
        <>
          <Kubectl command={kubectlOf('rollout undo', kind, namespace, name, `--to-revision=${chosen.number}`)} />
          <label>
            Revision{' '}
            <select value={chosen.number} onChange={({ currentTarget }) => setNumber(Number(currentTarget.value))}>
              {revisions.map((revision) => (
                <option key={revision.number} value={revision.number} disabled={revision.isCurrent}>
                  {describeRevision(revision)}
                </option>
              ))}
            </select>
          </label>
          <Suspense fallback={<Busy what="the difference" />}>
            <DiffView before={stringify(present.template)} after={stringify(chosen.template)} />
          </Suspense>
          <RunError error={failure} />
          <div className="buttons">
            <button type="button" className="primary" disabled={isBusy} onClick={() => run(() => rollBack(chosen))}>
              Roll back to {chosen.number}
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}

function describeRevision({ number, createdAt, cause, isCurrent }: Revision): string {
  return [`${number}`, isCurrent ? '(now)' : '', createdAt, cause].filter((part) => part !== '').join(' ');
}
