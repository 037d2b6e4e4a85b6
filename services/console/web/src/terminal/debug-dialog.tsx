import type { Pod } from '@gantry/objects';
import { type FormEvent, type ReactNode, useState } from 'react';
import type { TabProps } from '../object/use-object.ts';
import { quote } from '../objects/kubectl.ts';
import { useConsole } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Kubectl } from '../shell/notices.tsx';

/** Adds a container with tools to a pod. It stays until the pod ends. */
export function DebugDialog({
  namespace,
  name,
  object,
  onClose,
}: TabProps & { readonly onClose: () => void }): ReactNode {
  const containers = ((object as Pod).spec?.containers ?? []).map((one) => one.name);
  const { api, clock } = useConsole();
  const [image, setImage] = useState('busybox');
  const [target, setTarget] = useState('');
  const { run, isBusy, error } = useRun();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const container = {
      name: `debugger-${clock.now().toString(36)}`,
      image,
      stdin: true,
      tty: true,
      ...(target === '' ? {} : { targetContainerName: target }),
    };
    run(async (signal) => {
      await api.fetch(`/api/v1/namespaces/${namespace}/pods/${name}/ephemeralcontainers`, {
        method: 'PATCH',
        contentType: 'application/strategic-merge-patch+json',
        body: { spec: { ephemeralContainers: [container] } },
      });
      if (!signal.aborted) onClose();
    });
  };
  return (
    <Dialog title="Add a debug container" onClose={onClose}>
      <Kubectl
        command={`kubectl debug -n ${quote(namespace)} ${quote(name)} -it --image=${quote(image)} --profile=baseline${target === '' ? '' : ` --target=${quote(target)}`}`}
      />
      <form onSubmit={submit}>
        <label>
          Image <input value={image} required onChange={({ currentTarget }) => setImage(currentTarget.value)} />
        </label>
        <label>
          Sees the processes of{' '}
          <select value={target} onChange={({ currentTarget }) => setTarget(currentTarget.value)}>
            <option value="">none</option>
            {containers.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <RunError error={error} />
        <div className="buttons">
          <button type="submit" className="primary" disabled={isBusy}>
            Add
          </button>
        </div>
      </form>
    </Dialog>
  );
}
