import { errorMessage } from '@gantry/base';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useQueries } from '@tanstack/react-query';
import type { KubeObject } from '@gantry/objects';
import { type ReactNode, use, useEffect, useMemo, useState } from 'react';
import { allows } from '../api/access.ts';
import { collectionPath, type Kind } from '../api/kinds.ts';
import type { HistoryReport } from '../control-plane/reports.ts';
import { useReport } from '../control-plane/use-report.ts';
import { useConsole, useRules } from '../shell/console-context.ts';
import { useDraft } from '../shell/draft-input.tsx';
import { Busy, Failure, Kubectl } from '../shell/notices.tsx';
import { OpenRun } from '../recorded/open-run.tsx';
import { RecordedRunContext } from '../shell/recorded-run.ts';
import { type Change, changesBetween, commonPart } from './changes.ts';
import { Table } from '../shell/table.tsx';
import { indexOf, type Moment, momentsOf, timeOf } from './moments.ts';

const REFRESH_MS = 5_000;
/** How many moments back changes are shown at first: about a minute. */
const FIRST_STEPS = 12;
/** Objects of a kind that are compared. */
const MAX_OBJECTS = 2_000;
/** Kinds that change all the time by themselves, and say nothing about the cluster. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'events',
  'events.events.k8s.io',
  'leases.coordination.k8s.io',
  'secrets',
  'componentstatuses',
]);

/** The past that etcd still holds: all views at a moment, and what changed between two. */
export function HistoryPage(): ReactNode {
  const { data, error } = useReport<HistoryReport>('history', REFRESH_MS);
  useEffect(() => {
    document.title = 'History · Gantry';
  }, []);
  return (
    <div className="page">
      <div className="heading">
        <h1>History</h1>
        <Kubectl command="kubectl get --raw /gantry/v1/history" />
      </div>
      {error ? <Failure error={error} what="the history" /> : null}
      {data === undefined ? error ? null : <Busy what="the history" /> : <Travel report={data} />}
      <OpenRun />
    </div>
  );
}

function Travel({ report }: { readonly report: HistoryReport }): ReactNode {
  const { run } = use(RecordedRunContext);
  const moments = useMemo(() => momentsOf(report), [report]);
  const { at } = useSearch({ from: '__root__' });
  const navigate = useNavigate();
  const last = moments.length - 1;
  // The beginning stays where it is while time goes on.
  const [from, setFrom] = useState(() => moments[Math.max(0, last - FIRST_STEPS)]?.resourceVersion);
  const { shown, change, drop } = useDraft(at);
  const chosen = shown === undefined ? last + 1 : indexOf(moments, shown);
  const start = from === undefined ? 0 : indexOf(moments, from);
  const go = (index: number) => {
    const moment = moments[index];
    change(moment?.resourceVersion);
    void navigate({ to: '.', search: (old) => ({ ...old, at: moment?.resourceVersion }), replace: true });
  };
  const begin = moments[Math.min(start, last)];
  const end = moments[chosen];
  return (
    <>
      {run === undefined ? (
        <p>
          etcd holds the last {report.keptMinutes} minutes and more: history ends at{' '}
          {moments[0]?.at === undefined ? `version ${report.oldest.resourceVersion}` : timeOf(moments[0])}. What is
          older is compacted. <code>GANTRY_HISTORY_MINUTES</code> sets how far it goes.
        </p>
      ) : (
        <p>
          The run was recorded from {new Date(run.from).toLocaleString()} to {new Date(run.to).toLocaleString()}.
        </p>
      )}
      <label className="slider">
        <span>All views show</span>
        <input
          type="range"
          min={0}
          max={last + 1}
          value={chosen}
          onChange={({ currentTarget }) => go(currentTarget.valueAsNumber)}
          onBlur={drop}
        />
        <output>{end === undefined ? 'now' : `${timeOf(end)} (version ${end.resourceVersion})`}</output>
      </label>
      <label className="slider">
        <span>Changes since</span>
        <input
          type="range"
          min={0}
          max={last}
          value={Math.min(start, last)}
          onChange={({ currentTarget }) => setFrom(moments[currentTarget.valueAsNumber]?.resourceVersion)}
        />
        <output>{begin === undefined ? '' : `${timeOf(begin)} (version ${begin.resourceVersion})`}</output>
      </label>
      {begin === undefined ? null : <Changes from={begin} to={end} />}
    </>
  );
}

interface List {
  readonly metadata?: { readonly continue?: string };
  readonly items: readonly KubeObject[];
}

/** The lists of all kinds at a moment; undefined is now. Kinds that the user may not list are left out. */
function useChanges(from: Moment, to: Moment | undefined) {
  const { api, kinds } = useConsole();
  const { ns = '' } = useSearch({ from: '__root__' });
  const rules = useRules(ns === '' ? 'default' : ns);
  const since = from.at ?? 0;
  const listed = kinds.filter(
    ({ id, group, resource, isNamespaced }) =>
      !LEFT_OUT.has(id) &&
      (ns === '' || isNamespaced) &&
      allows(rules, { verb: 'list', group, resource }) &&
      group !== 'metrics.k8s.io',
  );
  return useQueries({
    queries: listed.map((kind) => ({
      queryKey: ['changes', kind.id, ns, from.resourceVersion, to?.resourceVersion],
      staleTime: to === undefined ? 5_000 : Number.POSITIVE_INFINITY,
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const read = async (moment: Moment | undefined) => {
          const query = new URLSearchParams({ limit: String(MAX_OBJECTS) });
          if (moment !== undefined) {
            query.set('resourceVersion', moment.resourceVersion);
            query.set('resourceVersionMatch', 'Exact');
          }
          const list = await api.json<List>(`${collectionPath(kind, ns)}?${query}`, { signal });
          return { items: list.items, isCut: (list.metadata?.continue ?? '') !== '' };
        };
        const parts = await Promise.all([read(from), read(to)]);
        const { before, after } = commonPart(...parts);
        return { kind, isCut: parts.some(({ isCut }) => isCut), changes: changesBetween(before, after, since) };
      },
    })),
    combine: (results) => ({
      changes: results.flatMap(({ data }) =>
        data === undefined ? [] : data.changes.map((change) => ({ kind: data.kind, change })),
      ),
      cut: results.flatMap(({ data }) => (data?.isCut === true ? [data.kind.kind] : [])),
      isBusy: rules.isLoading === true || results.some(({ isPending }) => isPending),
      failed: results.flatMap(({ error }, index) =>
        error === null ? [] : [{ kind: listed[index]?.kind ?? '', why: errorMessage(error) }],
      ),
    }),
  });
}

function Changes({ from, to }: { readonly from: Moment; readonly to: Moment | undefined }): ReactNode {
  const { changes, cut, isBusy, failed } = useChanges(from, to);
  return (
    <section>
      <h2>What changed</h2>
      <p className="muted" role="status">
        {isBusy ? 'Reading …' : `${changes.length} objects`}
        {cut.length === 0 ? '' : `; of ${cut.join(', ')} the first ${MAX_OBJECTS} by name`}
        {failed.length === 0 ? '' : `; without ${failed.map(({ kind }) => kind).join(', ')}: ${failed[0]?.why ?? ''}`}
      </p>
      <Table label="What changed" of={['Object', 'What', 'Fields', 'Written by']}>
        {changes.map(({ kind, change }) => (
          <ChangeRow key={`${kind.id} ${change.object.metadata.uid ?? ''}`} kind={kind} change={change} />
        ))}
      </Table>
    </section>
  );
}

function ChangeRow({ kind, change }: { readonly kind: Kind; readonly change: Change }): ReactNode {
  const { what, object, fields, writers } = change;
  const { namespace = '', name = '' } = object.metadata;
  return (
    <tr>
      <th scope="row">
        <span className="muted">{kind.kind}</span>{' '}
        <Link to="/objects/$kind/$namespace/$name" params={{ kind: kind.id, namespace: namespace || '-', name }}>
          {namespace === '' ? '' : `${namespace}/`}
          {name}
        </Link>
      </th>
      <td className="nowrap" data-tone={what === 'created' ? 'good' : what === 'deleted' ? 'bad' : 'none'}>
        {what}
      </td>
      <td className="prose">
        {fields.map(({ path, before, after }) => (
          <div key={path}>
            <code>{path}</code> {before === '' ? '' : <del>{before}</del>} {after === '' ? '' : <ins>{after}</ins>}
          </div>
        ))}
      </td>
      <td>{writers.join(', ')}</td>
    </tr>
  );
}
