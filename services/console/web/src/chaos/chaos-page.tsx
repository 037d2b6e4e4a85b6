import { Link, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { quote } from '../objects/kubectl.ts';
import { formatAge } from '../shell/ages.ts';
import { useAllowed, useConsole, useKind, useLive, useNow } from '../shell/console-context.ts';
import { RunError, useRun } from '../shell/dialog.tsx';
import { ScrollBox } from '../shell/scroll-box.tsx';
import { Table } from '../shell/table.tsx';
import { Busy, Failure, Kubectl } from '../shell/notices.tsx';
import {
  type Run,
  RUN_FORMAT,
  RUNS,
  RUNS_PATH,
  SERVICE_FORMAT,
  SERVICES_PATH,
  sortRuns,
  toneOf,
  workingService,
} from './runs.ts';
import { Scenario, Strikes } from './make-faults.tsx';

const CREATE = { verb: 'create', group: RUNS.group, resource: RUNS.resource } as const;
const DELETE = { ...CREATE, verb: 'delete' } as const;
const ATTEMPTS = [CREATE, DELETE];
const BEAT_MS = 5_000;

/** Users who may create ChaosRuns make faults here. Users who may only read them see the runs. */
export function ChaosPage(): ReactNode {
  const kind = useKind(RUNS.id);
  useEffect(() => {
    document.title = 'Chaos · Gantry';
  }, []);
  return (
    <div className="page">
      <div className="heading">
        <h1>Chaos</h1>
        <Kubectl command="kubectl get chaosruns" />
      </div>
      {kind === undefined ? <Off /> : <Chaos />}
    </div>
  );
}

/** How to start what makes faults. */
function Off(): ReactNode {
  return (
    <div className="notice">
      <strong>Nothing makes faults at this cluster.</strong>
      <p>The console has no right to do so. Start the chaos service in the cluster's checkout:</p>
      <Kubectl command="npm run chaos -- serve" />
      <p>or as a container:</p>
      <Kubectl command="GANTRY_CHAOS=serve docker compose --profile chaos up -d --no-recreate chaos" />
    </div>
  );
}

function Chaos(): ReactNode {
  const { at } = useConsole();
  const now = useNow(BEAT_MS);
  const services = useLive({ path: SERVICES_PATH, format: SERVICE_FORMAT });
  const runs = useLive({ path: RUNS_PATH, format: RUN_FORMAT });
  const { may: mayDo, isLoading: isAsking } = useAllowed('', ATTEMPTS);
  const { run: chosen } = useSearch({ from: '/chaos' });
  const service = workingService(services.rows.values(), now);
  const sorted = sortRuns(runs.rows.values());
  // What is shown stays when another run begins: its button must not become that of another one.
  const [lastShown, setLastShown] = useState<string>();
  const named = (wanted: string | undefined) => sorted.find(({ name }) => name === wanted);
  const shown = named(chosen) ?? named(lastShown) ?? sorted[0];
  if (shown?.name !== lastShown) setLastShown(shown?.name);
  if (runs.phase === 'listing') return <Busy what="the runs" />;
  return (
    <>
      {runs.error ? <Failure error={runs.error} what="the runs" /> : null}
      {service === undefined && at === undefined && services.phase !== 'listing' ? <Off /> : null}
      {service !== undefined && at === undefined && mayDo(CREATE) ? (
        <>
          <Strikes service={service} />
          <Scenario service={service} />
        </>
      ) : null}
      {service !== undefined && !isAsking && !mayDo(CREATE) ? (
        <p className="muted">You may not create ChaosRuns, so no faults are offered.</p>
      ) : null}
      {shown === undefined ? (
        <p className="muted">No run yet.</p>
      ) : (
        <>
          <RunView run={shown} now={now} mayDelete={at === undefined && mayDo(DELETE)} />
          <RunList runs={sorted} shown={shown} now={now} />
        </>
      )}
    </>
  );
}

interface ListProps {
  readonly runs: readonly Run[];
  readonly shown: Run;
  readonly now: number;
}

function RunList({ runs, shown, now }: ListProps): ReactNode {
  return (
    <section>
      <h2>Runs</h2>
      <Table label="Runs" of={['Run', 'Phase', 'Faults', 'Longest gap', 'Seed', 'Age']}>
        {runs.map((run) => (
          <tr key={run.uid}>
            <th scope="row">
              <Link
                to="/chaos"
                search={(old) => ({ ...old, run: run.name })}
                aria-current={run === shown ? 'true' : undefined}
              >
                {run.name}
              </Link>
            </th>
            <td data-tone={toneOf(phaseOf(run))}>{phaseOf(run)}</td>
            <td>{run.status.startedFaults ?? 0}</td>
            <td>{gapOf(run)}</td>
            <td>{run.status.seed ?? run.spec.seed ?? ''}</td>
            <td>{formatAge(now - run.createdAt)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

const phaseOf = ({ isTerminating, status: { phase = 'Pending', endedAt } }: Run) =>
  isTerminating && endedAt === undefined ? 'Healing' : phase;
const gapOf = ({ status: { longestGapMs } }: Run) =>
  longestGapMs === undefined ? '' : `${(longestGapMs / 1000).toFixed(2)} s`;

interface RunProps {
  readonly run: Run;
  readonly now: number;
  readonly mayDelete: boolean;
}

/** What a run does now, and what it found. */
function RunView({ run, now, mayDelete }: RunProps): ReactNode {
  const { name, status } = run;
  const { message = 'waits for the chaos service', active = [], leaders = [], requests } = status;
  return (
    <section aria-label={`Run ${name}`}>
      <h2>
        {name} <span data-tone={toneOf(phaseOf(run))}>{phaseOf(run)}</span>
      </h2>
      <Kubectl command={`kubectl get chaosrun ${quote(name)} -o yaml`} />
      <p role="status">{message}</p>
      {mayDelete ? <EndButton key={run.uid} run={run} /> : null}
      <dl className="pairs">
        <dt>Faults</dt>
        <dd>
          {status.startedFaults ?? 0} of {status.plannedFaults ?? '…'}
        </dd>
        <dt>Seed</dt>
        <dd>{status.seed ?? run.spec.seed ?? '…'}</dd>
        <dt>Requests</dt>
        <dd>
          {requests === undefined
            ? '…'
            : `${requests.acknowledged} acknowledged, ${requests.refused} refused, ${requests.unknown} unknown`}
        </dd>
        <dt>Longest gap</dt>
        <dd>{gapOf(run) || '…'}</dd>
      </dl>
      {active.length === 0 ? null : (
        <Table of={['Fault', 'What', 'Ends in']} label="Faults now">
          {active.map(({ fault, detail, endsAt }) => (
            <tr key={fault}>
              <th scope="row" data-tone="bad">
                {fault}
              </th>
              <td>{detail}</td>
              <td>{Math.max(0, Math.round((Date.parse(endsAt) - now) / 1000))} s</td>
            </tr>
          ))}
        </Table>
      )}
      {leaders.length === 0 ? null : (
        <Table of={['Component', 'Leader', 'Epoch']} label="Leaders">
          {leaders.map(({ component, holder, epoch }) => (
            <tr key={component}>
              <th scope="row">{component}</th>
              <td data-tone={holder === '' ? 'bad' : 'good'}>{holder || 'nobody'}</td>
              <td>{epoch}</td>
            </tr>
          ))}
        </Table>
      )}
      <Outcome run={run} now={now} />
      <ScrollBox as="pre" className="code" label="Events">
        {(status.lines ?? []).join('\n')}
      </ScrollBox>
    </section>
  );
}

/** Deletes the object. A run that is going on is healed first. */
function EndButton({ run: { name, uid, status } }: Pick<RunProps, 'run'>): ReactNode {
  const { api } = useConsole();
  const { run, isBusy, error } = useRun();
  const end = () =>
    run(async () => {
      const body = { preconditions: { uid } };
      await api.fetch(`${RUNS_PATH}/${encodeURIComponent(name)}`, { method: 'DELETE', body });
    });
  return (
    <>
      <button type="button" className="danger" disabled={isBusy} onClick={end}>
        {status.endedAt === undefined ? 'End it and heal everything' : 'Delete'}
      </button>
      <RunError error={error} />
    </>
  );
}

function Outcome({ run: { status }, now }: Pick<RunProps, 'run' | 'now'>): ReactNode {
  const { violations = [], invariants = [], checks, checkedUntil, folder, replay } = status;
  return (
    <>
      {checks === undefined ? null : (
        <p>
          Invariants: {checks}
          {checkedUntil === undefined ? '' : `, by what was recorded ${formatAge(now - Date.parse(checkedUntil))} ago`}.
        </p>
      )}
      {violations.length === 0 ? null : (
        <ul className="findings">
          {violations.map((violation) => (
            <li key={violation} data-tone="bad">
              {violation}
            </li>
          ))}
        </ul>
      )}
      {replay === undefined ? null : (
        <>
          <p>
            Recorded in <code>{folder}</code>. The same again:
          </p>
          <Kubectl command={replay} />
        </>
      )}
      {invariants.length === 0 ? null : (
        <Table of={['Invariant', 'Verdict', 'What must hold', 'Checked']} label="Verdict">
          {invariants.map(({ invariant, title, state, checked, unit, notChecked = '' }) => (
            <tr key={invariant}>
              <th scope="row">{invariant}</th>
              <td data-tone={toneOf(state)}>{state}</td>
              <td>{title}</td>
              <td title={notChecked}>{checked === 0 && notChecked !== '' ? notChecked : `${checked} ${unit}`}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
