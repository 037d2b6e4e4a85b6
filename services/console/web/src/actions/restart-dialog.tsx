import { formatTime } from '@gantry/base';
import type { ReactNode } from 'react';
import { objectPath } from '../api/kinds.ts';
import type { TabProps } from '../object/use-object.ts';
import { kubectlOf } from '../objects/kubectl.ts';
import { useConsole } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Kubectl } from '../shell/notices.tsx';
import { isPaused, PausedNotice } from './paused-notice.tsx';

/** Replaces all pods of a workload, as a change of its template would. */
export function RestartDialog(props: TabProps & { readonly onClose: () => void }): ReactNode {
  const { kind, namespace, name, object, onClose } = props;
  const { api, clock } = useConsole();
  const { run, isBusy, error } = useRun();
  const restart = async (signal: AbortSignal) => {
    const annotations = { 'kubectl.kubernetes.io/restartedAt': formatTime(clock.now()) };
    await api.fetch(`${objectPath(kind, namespace, name)}?fieldManager=gantry-console`, {
      method: 'PATCH',
      contentType: 'application/strategic-merge-patch+json',
      body: { spec: { template: { metadata: { annotations } } } },
    });
    if (!signal.aborted) onClose();
  };
  return (
    <Dialog title={`Restart ${name}`} onClose={onClose}>
      <Kubectl command={kubectlOf('rollout restart', kind, namespace, name)} />
      <p>All its pods are replaced, in the steps of its update strategy.</p>
      <PausedNotice {...props} />
      <RunError error={error} />
      <div className="buttons">
        <button type="button" className="primary" disabled={isBusy || isPaused(object)} onClick={() => run(restart)}>
          Restart
        </button>
      </div>
    </Dialog>
  );
}
