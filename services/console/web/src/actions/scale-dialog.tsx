import { type FormEvent, type ReactNode, useState } from 'react';
import { objectPath } from '../api/kinds.ts';
import type { TabProps } from '../object/use-object.ts';
import { kubectlOf } from '../objects/kubectl.ts';
import { useConsole } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Kubectl } from '../shell/notices.tsx';

/** Sets the number of replicas. */
export function ScaleDialog({
  kind,
  namespace,
  name,
  object,
  onClose,
}: TabProps & { readonly onClose: () => void }): ReactNode {
  const { api } = useConsole();
  const present = Number(object.spec?.['replicas'] ?? 1);
  // A field that is being cleared is no number: it does not become 0.
  const [text, setText] = useState(String(present));
  const replicas = Number(text);
  const { run, isBusy, error } = useRun();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    run(async (signal) => {
      const path = `${objectPath(kind, namespace, name)}/scale?fieldManager=gantry-console`;
      const contentType = 'application/merge-patch+json';
      await api.fetch(path, { method: 'PATCH', contentType, body: { spec: { replicas } } });
      if (!signal.aborted) onClose();
    });
  };
  return (
    <Dialog title={`Scale ${name}`} onClose={onClose}>
      <Kubectl command={kubectlOf('scale', kind, namespace, name, `--replicas=${text}`)} />
      <form onSubmit={submit}>
        <label>
          Replicas{' '}
          <input
            type="number"
            min={0}
            required
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />{' '}
          <span className="muted">now {present}</span>
        </label>
        <RunError error={error} />
        <div className="buttons">
          <button type="submit" className="primary" disabled={isBusy}>
            Scale
          </button>
        </div>
      </form>
    </Dialog>
  );
}
