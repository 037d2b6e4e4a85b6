import type { ControllerRevision, Deployment, KubeObject } from '@gantry/objects';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { stringify } from 'yaml';
import { objectPath } from '../api/kinds.ts';
import { DiffView } from '../editor/diff-view.tsx';
import type { TabProps } from '../object/use-object.ts';
import { kubectlOf } from '../objects/kubectl.ts';
import { useConsole } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Busy, Failure, Kubectl } from '../shell/notices.tsx';
import { isPaused, PausedNotice } from './paused-notice.tsx';
import { controllerRevisions, deploymentRevisions, REVISION, type Revision } from './revisions.ts';

function useRevisions({ kind, namespace, object }: TabProps) {
  const { api } = useConsole();
  const { uid, generation } = object.metadata;
  const isDeployment = kind.id === 'deployments.apps';
  // Each pod of a rollout changes the status: only another template makes a revision, some moments after it: then its controller has written this.
  const made = isDeployment ? object.metadata.annotations?.[REVISION] : object.status?.['observedGeneration'];
  const { data, error } = useQuery({
    queryKey: ['revisions', kind.id, uid, generation, made],
    queryFn: async ({ signal }) => {
      const path = `/apis/apps/v1/namespaces/${namespace}/${isDeployment ? 'replicasets' : 'controllerrevisions'}`;
      return (await api.json<{ items: readonly KubeObject[] }>(path, { signal })).items;
    },
    placeholderData: keepPreviousData,
  });
  const revisions = useMemo((): readonly Revision[] | undefined => {
    if (data === undefined) return undefined;
    return isDeployment
      ? deploymentRevisions(object as Deployment, data)
      : controllerRevisions(object, data as readonly ControllerRevision[]);
  }, [data, isDeployment, object]);
  return { revisions, error };
}

/** Goes back to an earlier revision, after a look at the difference. */
export function RollBackDialog({ onClose, ...props }: TabProps & { readonly onClose: () => void }): ReactNode {
  const { kind, namespace, name, object } = props;
  const { api } = useConsole();
  const { revisions, error } = useRevisions(props);
  const { run, isBusy, error: failure } = useRun();
  const [number, setNumber] = useState<number>();
  const present = object.spec?.['template'];
  const chosen =
    revisions?.find((revision) => revision.number === number) ?? revisions?.find(({ isCurrent }) => !isCurrent);
  // What is offered first stays: a rollout that somebody else begins would put another one under the pointer.
  if (number === undefined && chosen !== undefined) setNumber(chosen.number);
  const rollBack = async (revision: Revision, signal: AbortSignal) => {
    const body = [
      // The difference that was seen is from this template.
      { op: 'test', path: '/spec/template', value: present },
      { op: 'replace', path: '/spec/template', value: revision.template },
      ...(revision.annotations === undefined
        ? []
        : [{ op: 'add', path: '/metadata/annotations', value: revision.annotations }]),
    ];
    const path = `${objectPath(kind, namespace, name)}?fieldManager=gantry-console`;
    await api.fetch(path, { method: 'PATCH', contentType: 'application/json-patch+json', body });
    if (!signal.aborted) onClose();
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
          <DiffView before={stringify(present)} after={stringify(chosen.template)} />
          <PausedNotice {...props} />
          <RunError error={failure} />
          <div className="buttons">
            <button
              type="button"
              className="primary"
              disabled={isBusy || chosen.isCurrent || isPaused(object)}
              onClick={() => run((signal) => rollBack(chosen, signal))}
            >
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
