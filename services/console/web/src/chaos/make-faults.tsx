import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useConsole } from '../shell/console-context.ts';
import { RunError, useRun } from '../shell/dialog.tsx';
import {
  componentsOf,
  peersOf,
  RUNS_PATH,
  scenarioRun,
  type Service,
  STRIKES,
  type Strike,
  strikeOf,
  strikeRun,
} from './runs.ts';

interface Props {
  readonly service: Service;
}

/** Creates a run, and shows it. */
function useCreate() {
  const { api } = useConsole();
  const navigate = useNavigate();
  const { run, isBusy, error } = useRun();
  const create = (body: object) =>
    run(async (signal) => {
      const path = `${RUNS_PATH}?fieldManager=gantry-console&fieldValidation=Strict`;
      const { metadata } = await api.json<{ metadata: { name: string } }>(path, { method: 'POST', body });
      if (!signal.aborted) await navigate({ to: '/chaos', search: (old) => ({ ...old, run: metadata.name }) });
    });
  return { create, isBusy, error };
}

const withChosen = (names: readonly string[], chosen: string) => (names.includes(chosen) ? names : [chosen, ...names]);

/** One fault of one component, by a button. */
export function Strikes({ service }: Props): ReactNode {
  const components = componentsOf(service);
  const [component, setComponent] = useState('scheduler/leader');
  const peers = peersOf(service, component);
  const [chosenPeer, setPeer] = useState('');
  // The first one that is shown, or was chosen, stays when it is gone, and cannot be struck: another one must not take its place under the pointer.
  const peer = chosenPeer || (peers[0] ?? '');
  if (peer !== chosenPeer) setPeer(peer);
  const { create, isBusy, error } = useCreate();
  const strike = (of: Strike) => {
    const fault = strikeOf(service, of, component, peer);
    if (fault !== undefined) create(strikeRun(fault));
  };
  return (
    <section>
      <h2>Strike one component</h2>
      <div className="filters">
        <label>
          Component{' '}
          <select
            value={component}
            onChange={({ currentTarget }) => {
              setComponent(currentTarget.value);
              setPeer('');
            }}
          >
            {withChosen(components, component).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {peers.length === 0 ? null : (
          <label>
            Cut from{' '}
            <select value={peer} onChange={({ currentTarget }) => setPeer(currentTarget.value)}>
              {withChosen(peers, peer).map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        {STRIKES.map((of) => (
          <button
            key={of.title}
            type="button"
            className="danger"
            disabled={isBusy || strikeOf(service, of, component, peer) === undefined}
            title={service.faults.find(({ name }) => name === of.kinds[0])?.what}
            onClick={() => strike(of)}
          >
            {of.title}
          </button>
        ))}
      </div>
      <p className="muted">Clients count meanwhile. A pause and a cut end after 12 s.</p>
      <RunError error={error} />
    </section>
  );
}

/** A schedule of faults that a seed decides, under workloads. */
export function Scenario({ service }: Props): ReactNode {
  const { create, isBusy, error } = useCreate();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const text = (name: string) => String(data.get(name) ?? '');
    const [faults, workloads] = ['faults', 'workloads'].map((name) => data.getAll(name).map(String));
    create(
      scenarioRun({
        seed: text('seed'),
        duration: text('duration'),
        intensity: text('intensity'),
        faults: faults ?? [],
        workloads: workloads ?? [],
      }),
    );
  };
  return (
    <section>
      <h2>Scenario</h2>
      <form onSubmit={submit}>
        <div className="filters">
          <label>
            Seed <input name="seed" inputMode="numeric" pattern="\d*" maxLength={10} placeholder="chosen" />
          </label>
          <label>
            Duration <input name="duration" defaultValue="1m" required maxLength={16} />
          </label>
          <label>
            Intensity <input name="intensity" type="number" min={1} max={10} defaultValue={2} required />
          </label>
          <button type="submit" className="danger" disabled={isBusy}>
            Start
          </button>
        </div>
        <details>
          <summary>Faults: all, or those chosen here</summary>
          <Choices name="faults" of={service.faults} isChosen={() => false} />
        </details>
        <details>
          <summary>Workloads: those chosen here</summary>
          <Choices name="workloads" of={service.workloads} isChosen={() => true} />
        </details>
      </form>
      <RunError error={error} />
    </section>
  );
}

interface ChoicesProps {
  readonly name: string;
  readonly of: readonly { readonly name: string; readonly what: string }[];
  readonly isChosen: (name: string) => boolean;
}

function Choices({ name, of, isChosen }: ChoicesProps): ReactNode {
  return (
    <ul>
      {of.map((one) => (
        <li key={one.name}>
          <label>
            <input type="checkbox" name={name} value={one.name} defaultChecked={isChosen(one.name)} /> {one.name}{' '}
            <span className="muted">{one.what}</span>
          </label>
        </li>
      ))}
    </ul>
  );
}
