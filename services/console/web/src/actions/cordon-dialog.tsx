import type { ReactNode } from 'react';
import type { TabProps } from '../object/use-object.ts';
import { kubectlOfNode } from '../objects/kubectl.ts';
import { useConsole } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Kubectl } from '../shell/notices.tsx';
import { setUnschedulable } from './cordon.ts';

type Props = TabProps & { readonly onClose: () => void };

/** Keeps new pods from a node. */
export function CordonDialog(props: Props): ReactNode {
  return (
    <Schedulability
      {...props}
      title="Cordon"
      isUnschedulable
      effect="No new pod is placed on it. Its pods stay."
      already="It is cordoned already."
    />
  );
}

/** Lets new pods on a node again. */
export function UncordonDialog(props: Props): ReactNode {
  return (
    <Schedulability
      {...props}
      title="Uncordon"
      isUnschedulable={false}
      effect="New pods are placed on it again."
      already="It is not cordoned."
    />
  );
}

interface Wanted {
  readonly title: string;
  readonly isUnschedulable: boolean;
  readonly effect: string;
  readonly already: string;
}

function Schedulability({ name, object, onClose, title, isUnschedulable, effect, already }: Props & Wanted): ReactNode {
  const { api } = useConsole();
  const { run, isBusy, error } = useRun();
  const isDone = (object.spec?.['unschedulable'] === true) === isUnschedulable;
  const change = async (signal: AbortSignal) => {
    await setUnschedulable(api, name, isUnschedulable);
    if (!signal.aborted) onClose();
  };
  return (
    <Dialog title={`${title} ${name}`} onClose={onClose}>
      <Kubectl command={kubectlOfNode(title.toLowerCase(), name)} />
      <p role="status">{isDone ? already : effect}</p>
      <RunError error={error} />
      <div className="buttons">
        <button type="button" className="primary" disabled={isBusy || isDone} onClick={() => run(change)}>
          {title}
        </button>
      </div>
    </Dialog>
  );
}
