import { useNavigate } from '@tanstack/react-router';
import { type ChangeEvent, type ReactNode, use } from 'react';
import { RunError, useRun } from '../shell/dialog.tsx';
import { RecordedRunContext } from '../shell/recorded-run.ts';
import { linesOf } from '../watch/lines.ts';
import { createRecordedApi, recordedKinds } from './recorded-api.ts';
import { readRecording, type RunFile } from './recording.ts';

/** Opens the folder of a run of faults from the disk of the browser: its files go nowhere. */
export function OpenRun(): ReactNode {
  const { run: shown, show } = use(RecordedRunContext);
  const navigate = useNavigate();
  const { run, isBusy, error } = useRun();
  const open = ({ currentTarget }: ChangeEvent<HTMLInputElement>) => {
    const files = [...(currentTarget.files ?? [])];
    const [name = 'run'] = files[0]?.webkitRelativePath.split('/') ?? [];
    run(async (signal) => {
      const recording = await readRecording(name, files.map(runFile));
      if (signal.aborted) return;
      const [first, last] = [recording.marks[0], recording.marks.at(-1)];
      show({
        name,
        from: first?.at ?? 0,
        to: last?.at ?? 0,
        kinds: recordedKinds(recording),
        at: String(last?.version ?? 0),
        apiFor: (session) => createRecordedApi(recording, session),
      });
      await navigate({ to: '/history', search: {} });
    });
  };
  if (shown !== undefined) return null;
  return (
    <section>
      <h2>A recorded run of faults</h2>
      <p>
        <label>
          Folder of a run{' '}
          <input
            type="file"
            multiple
            disabled={isBusy}
            onChange={open}
            ref={(input) => void input?.toggleAttribute('webkitdirectory', true)}
          />
        </label>{' '}
        {isBusy ? <span role="status">Reading …</span> : null}
      </p>
      <p className="muted">
        <code>npm run chaos</code> leaves one in <code>.gantry/chaos</code>. It is read in this browser and sent
        nowhere. All views then show the cluster as it was. Secrets are sealed in it, and left out.
      </p>
      <RunError error={error} />
    </section>
  );
}

function runFile(file: File): RunFile {
  const path = file.webkitRelativePath.split('/').slice(1).join('/');
  return { path, size: file.size, text: () => file.text(), lines: () => linesOf(file.stream()) };
}
