import { type ReactNode, Suspense, useEffect } from 'react';
import { formatAmount } from '../explain/nodes.ts';
import { formatAge } from '../shell/ages.ts';
import { lazyPart } from '../shell/lazy-part.ts';
import { Busy, Failure, Kubectl } from '../shell/notices.tsx';
import type { ApiServersReport, EtcdReport } from './reports.ts';
import { useReport, useSamples } from './use-report.ts';
import { Table } from '../shell/table.tsx';

const Chart = lazyPart(() => import('../shell/chart.tsx'), 'Chart');
const REFRESH_MS = 2_000;
/** Rows of requests and watches: those with the most. */
const LISTED = 15;

/** The store and the API servers: who leads, how full, how fast, who asks for what. */
export function EtcdPage(): ReactNode {
  const etcd = useReport<EtcdReport>('etcd', REFRESH_MS);
  const servers = useReport<ApiServersReport>('apiservers', REFRESH_MS);
  useEffect(() => {
    document.title = 'etcd and API · Gantry';
  }, []);
  return (
    <div className="page">
      <div className="heading">
        <h1>etcd and API</h1>
        <Kubectl command="kubectl get --raw /gantry/v1/etcd" />
      </div>
      {etcd.error ? <Failure error={etcd.error} what="the state of etcd" /> : null}
      {etcd.data === undefined ? etcd.error ? null : <Busy what="the state of etcd" /> : <Etcd report={etcd.data} />}
      {servers.error ? <Failure error={servers.error} what="the API servers" /> : null}
      {servers.data === undefined ? null : <Servers report={servers.data} />}
    </div>
  );
}

function Etcd({ report }: { readonly report: EtcdReport }): ReactNode {
  const { members, quotaBytes, at } = report;
  const samples = useSamples(at, Object.fromEntries(members.map(({ name, latencyMs }) => [name, latencyMs ?? null])));
  const bytes = (value: number | undefined) => (value === undefined ? '' : formatAmount('memory', value));
  return (
    <section>
      <h2>etcd</h2>
      <Table
        label="Members of etcd"
        of={[
          'Member',
          'State',
          'Role',
          'Term',
          'Raft index',
          'Revision',
          `Size, of ${bytes(quotaBytes)}`,
          'Latency',
          'Alarms',
          'Version',
        ]}
      >
        {members.map((member) => (
          <tr key={member.name}>
            <th scope="row">{member.name}</th>
            <td data-tone={member.state === 'healthy' ? 'good' : 'bad'}>
              {member.state} {member.reason}
            </td>
            <td>{member.isLeader === undefined ? '' : member.isLeader ? 'leader' : 'follower'}</td>
            <td>{member.raftTerm}</td>
            <td>
              {member.raftIndex}
              {(member.raftIndex ?? 0) - (member.raftAppliedIndex ?? 0) > 0 ? (
                <span className="muted"> {(member.raftIndex ?? 0) - (member.raftAppliedIndex ?? 0)} not applied</span>
              ) : null}
            </td>
            <td>{member.revision}</td>
            <td data-tone={(member.sizeBytes ?? 0) > quotaBytes * 0.8 ? 'bad' : 'none'}>
              {bytes(member.sizeBytes)} <span className="muted">{bytes(member.inUseBytes)} used</span>
            </td>
            <td>{member.latencyMs === undefined ? '' : `${member.latencyMs.toFixed(1)} ms`}</td>
            <td data-tone={(member.alarms ?? []).length > 0 ? 'bad' : 'none'}>
              {(member.alarms ?? []).join(', ') || 'none'}
            </td>
            <td>{member.version}</td>
          </tr>
        ))}
      </Table>
      <Suspense>
        <Chart title="Latency of etcd's members" unit="ms" names={samples.names} data={samples.data} />
      </Suspense>
    </section>
  );
}

function Servers({ report }: { readonly report: ApiServersReport }): ReactNode {
  const { apiservers, at, unreachable = [] } = report;
  const now = Date.parse(at);
  return (
    <>
      <section>
        <h2>API servers</h2>
        <Kubectl command="kubectl get --raw /gantry/v1/apiservers" />
        <Table label="API servers" of={['Address', 'Started', 'Cache revision', 'Behind etcd', 'Watches', 'Role']}>
          {apiservers.map(({ address, startedAt, cache, watches, leading }) => (
            <tr key={address}>
              <th scope="row">{address}</th>
              <td>{formatAge(now - Date.parse(startedAt))} ago</td>
              <td>{cache?.revision}</td>
              <td data-tone={(cache?.behind ?? 0) > 100 ? 'bad' : 'none'}>
                {cache?.behind === undefined ? 'unknown' : `${cache.behind} revisions`}
              </td>
              <td>{watches.reduce((sum, one) => sum + one.watches, 0)}</td>
              <td>{leading === true ? 'maintains etcd' : ''}</td>
            </tr>
          ))}
        </Table>
        {unreachable.map(({ address = '', reason = '' }) => (
          <p key={address} className="notice waiting">
            {address} does not respond: {reason}
          </p>
        ))}
      </section>
      <Requests report={report} />
      <Watches report={report} />
      <FlowControl report={report} />
    </>
  );
}

interface Row {
  readonly name: string;
  readonly requests: number;
  readonly failed: number;
  readonly seconds: number;
}

/** Requests of all servers by verb and kind, those with the most first. */
function requestRows({ apiservers }: ApiServersReport): readonly Row[] {
  const rows = new Map<string, Row>();
  for (const { requests } of apiservers)
    for (const { verb, resource, codes = {}, meanSeconds = 0 } of requests) {
      const name = `${verb} ${resource}`;
      const counts = Object.entries(codes);
      const total = counts.reduce((sum, [, count]) => sum + count, 0);
      const failed = counts.reduce((sum, [code, count]) => sum + (Number(code) >= 400 ? count : 0), 0);
      const old = rows.get(name) ?? { name, requests: 0, failed: 0, seconds: 0 };
      rows.set(name, {
        name,
        requests: old.requests + total,
        failed: old.failed + failed,
        seconds: old.seconds + total * meanSeconds,
      });
    }
  return [...rows.values()].sort((a, b) => b.requests - a.requests);
}

function Requests({ report }: { readonly report: ApiServersReport }): ReactNode {
  const rows = requestRows(report);
  return (
    <section>
      <h2>Requests since the servers started</h2>
      <Table label="Requests" of={['Request', 'Count', 'Failed', 'Mean']}>
        {rows.slice(0, LISTED).map(({ name, requests, failed, seconds }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{requests}</td>
            <td>{failed}</td>
            <td>{requests === 0 ? '' : `${((seconds / requests) * 1000).toFixed(1)} ms`}</td>
          </tr>
        ))}
      </Table>
      {rows.length > LISTED ? <p className="muted">and {rows.length - LISTED} more</p> : null}
    </section>
  );
}

/** Watches of all servers by kind, those with the most first. */
function Watches({ report }: { readonly report: ApiServersReport }): ReactNode {
  const all = report.apiservers.flatMap(({ watches }) => watches);
  const rows = [...Map.groupBy(all, ({ resource }) => resource)]
    .map(([resource, of]) => ({
      resource,
      watches: of.reduce((sum, one) => sum + one.watches, 0),
      rest: of.reduce((sum, one) => sum + one.rest, 0),
    }))
    .sort((a, b) => b.watches - a.watches);
  return (
    <section>
      <h2>Watches now</h2>
      <Table label="Watches" of={['Kind', 'Watches', 'Of clients', 'Of services']}>
        {rows.slice(0, LISTED).map(({ resource, watches, rest }) => (
          <tr key={resource}>
            <th scope="row">{resource}</th>
            <td>{watches}</td>
            <td>{rest}</td>
            <td>{watches - rest}</td>
          </tr>
        ))}
      </Table>
      {rows.length > LISTED ? <p className="muted">and {rows.length - LISTED} more</p> : null}
    </section>
  );
}

function FlowControl({ report }: { readonly report: ApiServersReport }): ReactNode {
  return (
    <section>
      <h2>Flow control</h2>
      <Table label="Flow control" of={['Server', 'Level and schema', 'Executing', 'Queued', 'Dispatched', 'Rejected']}>
        {report.apiservers.flatMap(({ address, flowControl }) =>
          flowControl.flatMap(({ name, limitSeats, schemas }) =>
            schemas
              .filter(({ dispatched }) => dispatched > 0)
              .map((schema) => {
                const rejected = Object.values(schema.rejected ?? {}).reduce((sum, count) => sum + count, 0);
                return (
                  <tr key={`${address} ${name} ${schema.name}`}>
                    <td className="muted">{address}</td>
                    <th scope="row">
                      {name} / {schema.name} <span className="muted">{limitSeats} seats</span>
                    </th>
                    <td>{schema.executingRequests}</td>
                    <td data-tone={schema.queuedRequests > 0 ? 'waiting' : 'none'}>{schema.queuedRequests}</td>
                    <td>{schema.dispatched}</td>
                    <td data-tone={rejected > 0 ? 'bad' : 'none'}>{rejected}</td>
                  </tr>
                );
              }),
          ),
        )}
      </Table>
    </section>
  );
}
