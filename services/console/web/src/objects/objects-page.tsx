import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useDeferredValue, useEffect, useMemo, useState } from 'react';
import { collectionPath, type Kind } from '../api/kinds.ts';
import { useKind, useLive, useStaleVersions } from '../shell/console-context.ts';
import { DraftInput } from '../shell/draft-input.tsx';
import { useFilterKey } from '../shell/filter-key.ts';
import { Failure, Kubectl, Stale, UnknownKind } from '../shell/notices.tsx';
import { type Column, tableFormat } from '../watch/formats.ts';
import type { Collection } from '../watch/live-collection.ts';
import { kubectlGet } from './kubectl.ts';
import { ObjectsTable } from './objects-table.tsx';
import { filterRows, parseSorting, shownColumns, sortRows } from './table-state.ts';

const route = getRouteApi('/objects/$kind');

/** All objects of one kind, as the server's Table, live. */
export function ObjectsPage(): ReactNode {
  const { kind: id } = route.useParams();
  const kind = useKind(id);
  const stale = useStaleVersions(id);
  if (kind === undefined) return <UnknownKind id={id} stale={stale} />;
  return <KindPage key={id} kind={kind} />;
}

function KindPage({ kind }: { readonly kind: Kind }): ReactNode {
  const { ns = '', q = '', labels = '', fields = '', sort, hide = '', wide } = route.useSearch();
  const [columns, setColumns] = useState<readonly Column[]>([]);
  const [format] = useState(() => tableFormat(setColumns));
  const query = useMemo(
    () => ({
      ...(labels === '' ? {} : { labelSelector: labels }),
      ...(fields === '' ? {} : { fieldSelector: fields }),
    }),
    [labels, fields],
  );
  const collection = useLive({ path: collectionPath(kind, ns), query, format });
  const { rows, error, phase } = collection;
  const text = useDeferredValue(q);
  const sorting = useMemo(() => parseSorting(sort), [sort]);
  const shown = useMemo(
    () => sortRows(filterRows(collection.rows.values(), text), columns, sorting),
    [collection, text, columns, sorting],
  );
  const hidden = useMemo(() => namesOf(hide), [hide]);
  const visible = useMemo(() => shownColumns(columns, wide !== undefined, hidden), [columns, wide, hidden]);
  useEffect(() => {
    document.title = `${kind.kind} · Gantry`;
  }, [kind]);
  return (
    <div className="page fill">
      <div className="heading">
        <h1>{kind.kind}</h1>
        <LiveState collection={collection} shown={shown.length} />
        <Kubectl command={kubectlGet(kind, { namespace: ns, labels, fields, wide: wide !== undefined })} />
      </div>
      <Filters columns={columns} />
      <Stale versions={useStaleVersions(kind.id)} />
      {error !== undefined && (phase !== 'broken' || rows.size === 0) ? (
        <Failure error={error} what={kind.kind} />
      ) : null}
      <ObjectsTable
        kind={kind}
        rows={shown}
        columns={visible}
        sorting={sorting}
        hasNamespaces={kind.isNamespaced && ns === ''}
        isComplete={phase !== 'listing'}
      />
    </div>
  );
}

function LiveState({
  collection,
  shown,
}: {
  readonly collection: Collection<unknown>;
  readonly shown: number;
}): ReactNode {
  const { phase, rows, error } = collection;
  const count = shown === rows.size ? `${shown}` : `${shown} of ${rows.size}`;
  const state =
    phase === 'live'
      ? 'live'
      : phase === 'listing'
        ? 'loading'
        : `connection lost: ${error?.message ?? ''}; trying again`;
  return (
    <span className="live" data-phase={phase} role="status">
      {count} · {state}
    </span>
  );
}

const namesOf = (hide = '') => hide.split(',').filter(Boolean);
const toggled = (names: readonly string[], name: string) =>
  (names.includes(name) ? names.filter((other) => other !== name) : [...names, name]).join(',') || undefined;

/** Text that is searched here, and selectors that the server evaluates. */
function Filters({ columns }: { readonly columns: readonly Column[] }): ReactNode {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const field = useFilterKey();
  const set = (change: Partial<typeof search>) =>
    void navigate({ search: (old) => ({ ...old, ...change }), replace: true });
  const hidden = namesOf(search.hide);
  const toggle = (name: string) =>
    void navigate({ search: (old) => ({ ...old, hide: toggled(namesOf(old.hide), name) }), replace: true });
  return (
    <div className="filters" role="search">
      <DraftInput
        ref={field}
        type="search"
        aria-label="Filter"
        placeholder="Filter  ( / )"
        value={search.q ?? ''}
        onType={(q) => set({ q: q || undefined })}
      />
      <Selector name="Labels" example="app=web,tier!=db" value={search.labels} onChange={(labels) => set({ labels })} />
      <Selector
        name="Fields"
        example="status.phase=Running"
        value={search.fields}
        onChange={(fields) => set({ fields })}
      />
      <details className="menu">
        <summary>Columns</summary>
        <div className="menu-content">
          <label>
            <input
              type="checkbox"
              checked={search.wide !== undefined}
              onChange={({ currentTarget }) => set({ wide: currentTarget.checked ? '1' : undefined })}
            />{' '}
            all of the server's columns
          </label>
          {columns
            .filter(({ name, priority }) => name !== 'Name' && (priority === 0 || search.wide !== undefined))
            .map(({ name, description }) => (
              <label key={name} title={description}>
                <input type="checkbox" checked={!hidden.includes(name)} onChange={() => toggle(name)} /> {name}
              </label>
            ))}
        </div>
      </details>
    </div>
  );
}

interface SelectorProps {
  readonly name: string;
  readonly example: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** A selector is complete when Enter is pressed or the field is left: half of one is an error. */
function Selector({ name, example, value = '', onChange }: SelectorProps): ReactNode {
  return (
    <DraftInput
      aria-label={`${name} selector`}
      placeholder={`${name}: ${example}`}
      value={value}
      onFinish={(text) => onChange(text || undefined)}
    />
  );
}
