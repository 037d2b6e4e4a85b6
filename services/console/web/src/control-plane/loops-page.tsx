import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { formatAge } from '../shell/ages.ts';
import { quote } from '../objects/kubectl.ts';
import { useConsole, useLive } from '../shell/console-context.ts';
import { Busy, Failure, Kubectl } from '../shell/notices.tsx';
import { EMPTY_LOG, type Failover, gapMs, observeLeaders } from './failovers.ts';
import { objectFormat } from '../watch/formats.ts';
import type { Candidate, Decision, Leader, LeadersReport, Loop, LoopsReport } from './reports.ts';
import { useReport } from './use-report.ts';
import { Table } from '../shell/table.tsx';

const LEADERS_MS = 500;
const LOOPS_MS = 2_000;

/** Who leads at which epoch, and what each control loop does and why. */
export function LoopsPage(): ReactNode {
  const leaders = useReport<LeadersReport>('leaders', LEADERS_MS);
  const loops = useReport<LoopsReport>('loops', LOOPS_MS);
  const [log, setLog] = useState(EMPTY_LOG);
  useEffect(() => {
    if (leaders.data !== undefined) {
      const report = leaders.data;
      setLog((old) => observeLeaders(old, report));
    }
  }, [leaders.data]);
  useEffect(() => {
    document.title = 'Control loops · Gantry';
  }, []);
  return (
    <div className="page">
      <div className="heading">
        <h1>Control loops</h1>
        <Kubectl command="kubectl get --raw /gantry/v1/loops" />
      </div>
      {leaders.error ? <Failure error={leaders.error} what="the leaders" /> : null}
      {leaders.data === undefined ? (
        leaders.error ? null : (
          <Busy what="the leaders" />
        )
      ) : (
        <>
          <Leaders report={leaders.data} />
          <Failovers failovers={log.failovers} />
        </>
      )}
      <Processes report={loops.data} error={loops.error} />
      <Agents />
    </div>
  );
}

interface ProcessesProps {
  readonly report: LoopsReport | undefined;
  readonly error: unknown;
}

function Processes({ report, error }: ProcessesProps): ReactNode {
  const { processes = [], unreachable = [], at = '' } = report ?? {};
  return (
    <>
      {error ? <Failure error={error} what="the control loops" /> : null}
      {processes.map((process) => (
        <Process key={process.identity} process={process} at={at} />
      ))}
      {unreachable.map(({ address = '', reason = '' }) => (
        <p key={address} className="notice waiting">
          {address} does not respond: {reason}
        </p>
      ))}
    </>
  );
}

const NODE_NAMES = objectFormat(({ metadata: { uid = '', name = '' } }) => ({ uid, name }));

/** What the agent of one node and the proxy of its host do. There are many nodes, so only the chosen one is asked. */
function Agents(): ReactNode {
  const { node = '' } = useSearch({ from: '/control-loops' });
  const navigate = useNavigate();
  const { rows } = useLive({ path: '/api/v1/nodes', format: NODE_NAMES });
  const path = `loops?${new URLSearchParams({ node })}`;
  const { data, error } = useReport<LoopsReport>(path, LOOPS_MS, node !== '');
  const names = [...rows.values()].map(({ name }) => name).sort();
  const choose = (chosen: string) =>
    void navigate({ to: '/control-loops', search: (old) => ({ ...old, node: chosen || undefined }), replace: true });
  return (
    <section>
      <h2>Agents</h2>
      <label>
        Node{' '}
        <select value={node} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          <option value="">none</option>
          {(node === '' || names.includes(node) ? names : [node, ...names]).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {node === '' ? null : (
        <>
          <Kubectl command={`kubectl get --raw ${quote(`/gantry/v1/${path}`)}`} />
          <Processes report={data} error={error} />
        </>
      )}
    </section>
  );
}

function Leaders({ report }: { readonly report: LeadersReport }): ReactNode {
  const now = Date.parse(report.at);
  return (
    <section>
      <h2>Leaders</h2>
      <Kubectl command="kubectl get --raw /gantry/v1/leaders" />
      <Table label="Leaders" of={['Component', 'Leader', 'Epoch', 'Term', 'Lease', 'Standby']}>
        {report.leaders.map((leader) => (
          <LeaderRow key={leader.component} leader={leader} now={now} />
        ))}
      </Table>
    </section>
  );
}

function LeaderRow({ leader, now }: { readonly leader: Leader; readonly now: number }): ReactNode {
  const { component, holder, epoch, candidates } = leader;
  const leading = candidates.find(({ identity }) => identity === holder);
  const standby = candidates.filter(({ identity }) => identity !== holder);
  const { electedAt, firstWriteAt } = leading?.term ?? {};
  return (
    <tr>
      <th scope="row">{component}</th>
      <td data-tone={holder === null ? 'bad' : leading === undefined ? 'waiting' : 'good'} title={holder ?? ''}>
        {holder === null
          ? 'nobody: the lease has run out'
          : (leading?.address ?? `${holder.slice(0, 8)} does not respond`)}
      </td>
      <td>{epoch ?? ''}</td>
      <td>
        {electedAt === undefined ? '' : formatAge(now - Date.parse(electedAt))}
        {electedAt === undefined || firstWriteAt === undefined ? null : (
          <span className="muted"> first write after {Date.parse(firstWriteAt) - Date.parse(electedAt)} ms</span>
        )}
      </td>
      <td>{leading?.leaseTtlMs === undefined ? '' : `${leading.leaseTtlMs} ms`}</td>
      <td className="muted">{standby.map(({ address }) => address).join(', ') || 'none'}</td>
    </tr>
  );
}

/** Changes of leaders since the page was opened, each with its course in time. */
function Failovers({ failovers }: { readonly failovers: readonly Failover[] }): ReactNode {
  return (
    <section aria-live="polite">
      <h2>Failovers seen</h2>
      {failovers.length === 0 ? (
        <p className="muted">None since this page was opened. The death of a leader is shown here as it happens.</p>
      ) : (
        <Table
          label="Failovers seen"
          of={['Component', 'Last sign of the old leader', 'Lease ran out', 'Elected', 'Acting', 'First write', 'Gap']}
        >
          {failovers.map((failover) => (
            <FailoverRow key={`${failover.component} ${failover.lastSeenAt}`} failover={failover} />
          ))}
        </Table>
      )}
    </section>
  );
}

function FailoverRow({ failover }: { readonly failover: Failover }): ReactNode {
  const { component, lastSeenAt, vacantAt, electedAt, actingAt, firstWriteAt, epoch } = failover;
  const after = (time: number | undefined) =>
    time === undefined ? '…' : `+${((time - lastSeenAt) / 1000).toFixed(2)} s`;
  const gap = gapMs(failover);
  return (
    <tr>
      <th scope="row">{component}</th>
      <td>{new Date(lastSeenAt).toLocaleTimeString()}</td>
      <td>{vacantAt === undefined && epoch !== undefined ? 'not seen' : after(vacantAt)}</td>
      <td>
        {after(electedAt)} {epoch === undefined ? null : <span className="muted">epoch {epoch}</span>}
      </td>
      <td>{after(actingAt)}</td>
      <td>{after(firstWriteAt)}</td>
      <td data-tone={gap === undefined ? 'waiting' : 'good'}>
        {gap === undefined ? 'open' : `${(gap / 1000).toFixed(2)} s`}
      </td>
    </tr>
  );
}

interface ProcessProps {
  readonly process: LoopsReport['processes'][number];
  readonly at: string;
}

function Process({ process, at }: ProcessProps): ReactNode {
  const { component, address, state, loops, queue, cache, startedAt } = process;
  return (
    <section>
      <h2>
        {component} <span className="muted">{address}</span>{' '}
        <span data-tone={state === 'leading' ? 'good' : 'none'}>{termText(process)}</span>{' '}
        <span className="muted">started {formatAge(Date.parse(at) - Date.parse(startedAt))} ago</span>
      </h2>
      {queue === undefined ? null : (
        <p>
          {queue.active} pods to schedule, {queue.backoff} wait after a failure, {queue.unschedulable} fit nowhere.
        </p>
      )}
      {cache === undefined ? null : (
        <p>
          Its copies of the API's objects are at revision {cache.revision}, {cache.behind} behind.
        </p>
      )}
      {loops.length === 0 ? null : (
        <Table
          label={`Control loops of ${component} ${address}`}
          of={['Loop', 'Queue', 'Reconciles', 'Mean', 'Longest', 'Failed', 'Conflicts', 'Last decision']}
          className="numbers"
        >
          {loops.map((loop) => (
            <LoopRows key={loop.name} loop={loop} at={Date.parse(at)} />
          ))}
        </Table>
      )}
    </section>
  );
}

function termText({ state, term }: Candidate): string {
  return state === 'leading' && term !== undefined ? `leads at epoch ${term.epoch}` : state;
}

function LoopRows({ loop, at }: { readonly loop: Loop; readonly at: number }): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const { name, queue, reconciles, decisions } = loop;
  const [latest] = decisions;
  return (
    <>
      <tr>
        <th scope="row">
          <button
            type="button"
            className="quiet"
            aria-expanded={isOpen}
            disabled={latest === undefined}
            onClick={() => setIsOpen(!isOpen)}
          >
            {isOpen ? '▾' : '▸'} {name}
          </button>
        </th>
        <td data-tone={queue.depth > 100 ? 'waiting' : 'none'}>{queue.depth}</td>
        <td>
          {reconciles.total} <span className="muted">{reconciles.perSecond.toFixed(1)}/s</span>
        </td>
        <td>{milliseconds(reconciles.meanSeconds)}</td>
        <td>{milliseconds(reconciles.longestSeconds)}</td>
        <td data-tone={reconciles.failed > 0 ? 'waiting' : 'none'}>{reconciles.failed}</td>
        <td>{reconciles.conflicts}</td>
        <td>{latest === undefined ? '' : <DecisionText decision={latest} at={at} />}</td>
      </tr>
      {isOpen
        ? decisions.slice(1).map((decision) => (
            <tr key={`${decision.at} ${decision.key.namespace ?? ''} ${decision.key.name ?? ''}`}>
              <td colSpan={7} />
              <td>
                <DecisionText decision={decision} at={at} />
              </td>
            </tr>
          ))
        : null}
    </>
  );
}

function milliseconds(seconds: number): string {
  const ms = seconds * 1000;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

function DecisionText({ decision, at }: { readonly decision: Decision; readonly at: number }): ReactNode {
  const { kinds } = useConsole();
  const { key, result, error, writes = [], writeCount = writes.length, events = [] } = decision;
  const [first] = writes;
  const kind = kinds.find(
    ({ group, resource }) => first !== undefined && group === first.group && resource === first.resource,
  );
  return (
    <>
      <span className="muted">{formatAge(at - Date.parse(decision.at))} ago</span>{' '}
      {key.namespace ? `${key.namespace}/` : ''}
      {key.name}
      {result === 'done' ? '' : <span data-tone="waiting"> {result}</span>}
      {error === undefined ? null : <span className="bad"> {error}</span>}
      {first === undefined ? null : (
        <>
          : {first.verb} {first.resource}
          {first.subresource === '' ? '' : `/${first.subresource}`}{' '}
          {kind === undefined ? (
            first.name
          ) : (
            <Link
              to="/objects/$kind/$namespace/$name"
              params={{ kind: kind.id, namespace: first.namespace || '-', name: first.name || '-' }}
            >
              {first.name}
            </Link>
          )}
          {writeCount > 1 ? ` and ${writeCount - 1} more` : ''}
        </>
      )}
      {events.map(({ reason, message }) => (
        <div key={`${reason} ${message}`} className="muted">
          {reason}: {message}
        </div>
      ))}
    </>
  );
}
