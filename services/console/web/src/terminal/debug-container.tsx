import { type FormEvent, type ReactNode, useState } from 'react';
import { quote } from '../objects/kubectl.ts';
import { useAllowed, useConsole } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Kubectl } from '../shell/notices.tsx';

interface Props {
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly string[];
}

/** Adds a container with tools to a running pod, for those who may. It stays until the pod ends. */
export function DebugContainer(props: Props): ReactNode {
  const { namespace, name } = props;
  const [isOpen, setIsOpen] = useState(false);
  const attempt = { verb: 'patch', group: '', resource: 'pods', subresource: 'ephemeralcontainers', name };
  const { may } = useAllowed(namespace, [attempt]);
  if (!may(attempt)) return null;
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        Add a debug container
      </button>
      {isOpen ? <DebugDialog {...props} onClose={() => setIsOpen(false)} /> : null}
    </>
  );
}

function DebugDialog({ namespace, name, containers, onClose }: Props & { readonly onClose: () => void }): ReactNode {
  const { api, clock } = useConsole();
  const [image, setImage] = useState('busybox');
  const { run, isBusy, error } = useRun();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const target = String(new FormData(event.currentTarget).get('target') ?? '');
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
      <Kubectl command={`kubectl debug -n ${quote(namespace)} ${quote(name)} -it --image=${quote(image)}`} />
      <form onSubmit={submit}>
        <label>
          Image <input value={image} required onChange={({ currentTarget }) => setImage(currentTarget.value)} />
        </label>
        <label>
          Sees the processes of{' '}
          <select name="target">
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
