import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  memo,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { Kind } from '../api/kinds.ts';
import { formatAge } from '../shell/ages.ts';
import { useNow } from '../shell/console-context.ts';
import type { Column, TableRow } from '../watch/formats.ts';
import { nextSorting, parseSorting, placeOf, type Place, type Sorting, toneOf } from './table-state.ts';

const ROW_PX = 32;

interface Shown {
  readonly column: Column;
  readonly index: number;
}

interface Props {
  readonly kind: Kind;
  readonly rows: readonly TableRow[];
  readonly columns: readonly Shown[];
  readonly sorting: Sorting | undefined;
  readonly hasNamespaces: boolean;
  readonly isComplete: boolean;
}

/** Only the visible rows are in the document. Arrow keys move between rows, Enter opens one. */
export function ObjectsTable({ kind, rows, columns, sorting, hasNamespaces, isComplete }: Props): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const now = useNow();
  const { history } = useRouter();
  const kept = useKeptSearch();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (index) => rows[index]?.uid ?? index,
  });
  const { active, choose, handlers } = useKeyboard(rows, scroller, (index) => virtual.scrollToIndex(index));
  // A link of the router in each row would make scrolling slow.
  const onClick = (event: MouseEvent) => {
    const href = (event.target as Element).closest('a')?.getAttribute('href');
    const isOrdinary = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (href === null || href === undefined || !isOrdinary) return;
    event.preventDefault();
    history.push(href);
  };
  const template = columnTemplate(columns, hasNamespaces);
  return (
    <div
      className="scroller"
      ref={scroller}
      {...handlers}
      onClick={onClick}
      {...(rows.length === 0
        ? { tabIndex: 0, role: 'region', 'aria-label': kind.kind }
        : { tabIndex: -1, role: 'presentation' })}
    >
      <div role="table" aria-label={kind.kind} aria-rowcount={rows.length + 1} className="table">
        <div role="rowgroup" className="table-head">
          <div role="row" className="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
            {hasNamespaces ? <ColumnHead name="Namespace" sorting={sorting} /> : null}
            {columns.map(({ column }) => (
              <ColumnHead key={column.name} name={column.name} description={column.description} sorting={sorting} />
            ))}
          </div>
        </div>
        <div role="rowgroup" className="rows" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, key }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <div
                key={String(key)}
                role="row"
                aria-rowindex={index + 2}
                data-index={index}
                className={row.isTerminating ? 'row terminating' : 'row'}
                style={{ transform: `translateY(${start}px)`, gridTemplateColumns: template }}
                onFocus={() => choose(index)}
              >
                <Cells
                  row={row}
                  path={`/objects/${kind.id}/${row.namespace || '-'}/${encodeURIComponent(row.name)}${kept}`}
                  columns={columns}
                  hasNamespaces={hasNamespaces}
                  age={formatAge(now - row.createdAt)}
                  isActive={index === active}
                />
              </div>
            );
          })}
        </div>
      </div>
      {rows.length === 0 && isComplete ? <p className="empty">Nothing to show.</p> : null}
    </div>
  );
}

/** The row that the keyboard is at. It stays at its object when others come, go and change their order. */
function useKeyboard(
  rows: readonly TableRow[],
  scroller: RefObject<HTMLDivElement | null>,
  scrollTo: (index: number) => void,
) {
  const [place, setPlace] = useState<Place>({ uid: '', index: 0 });
  const active = placeOf(place, rows);
  const hasFocus = useRef(false);
  const choose = (index: number) => setPlace({ uid: rows[index]?.uid ?? '', index });
  const focus = (index: number) =>
    scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"] a`)?.focus({ preventScroll: true });
  // The row with the focus may go: the one that takes its place gets it, or arrow keys would end there.
  useLayoutEffect(() => {
    if (hasFocus.current && document.activeElement === document.body) focus(active);
  });
  const move = (to: number) => {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    choose(index);
    scrollTo(index);
    requestAnimationFrame(() => focus(index));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? ROW_PX) / ROW_PX) - 2);
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const step = steps[event.key];
    if (step !== undefined) move(active + step);
    else if (event.key === 'Home') move(0);
    else if (event.key === 'End') move(rows.length - 1);
    else return;
    event.preventDefault();
  };
  const onFocus = () => void (hasFocus.current = true);
  const onBlur = () => void (hasFocus.current = false);
  return { active, choose, handlers: { onKeyDown, onFocus, onBlur } };
}

/** Names get room, numbers and ages little. */
function columnTemplate(columns: readonly Shown[], hasNamespaces: boolean): string {
  const widths = columns.map(({ column: { name, type } }) => {
    if (name === 'Name') return 'minmax(14rem, 3fr)';
    if (name === 'Age' || type === 'integer' || name === 'Ready') return 'minmax(4.5rem, 0.6fr)';
    return 'minmax(7rem, 1.2fr)';
  });
  return [...(hasNamespaces ? ['minmax(7rem, 1fr)'] : []), ...widths].join(' ');
}

/** What every address keeps. */
function useKeptSearch(): string {
  const { ns = '', at = '' } = useSearch({ from: '__root__' });
  const kept = new URLSearchParams(Object.entries({ ns, at }).filter(([, value]) => value !== ''));
  return kept.size === 0 ? '' : `?${kept}`;
}

interface HeadProps {
  readonly name: string;
  readonly description?: string;
  readonly sorting: Sorting | undefined;
}

function ColumnHead({ name, description, sorting }: HeadProps): ReactNode {
  const navigate = useNavigate();
  const isSorted = sorting?.column === name;
  const direction = sorting?.isDescending ? 'descending' : 'ascending';
  const sort = () =>
    void navigate({
      to: '.',
      search: (old) => ({ ...old, sort: nextSorting(parseSorting(old.sort), name) }),
      replace: true,
    });
  return (
    <div role="columnheader" aria-sort={isSorted ? direction : 'none'}>
      <button type="button" onClick={sort} title={description}>
        {name}
        <span aria-hidden="true">{isSorted ? (sorting.isDescending ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </div>
  );
}

interface CellsProps {
  readonly row: TableRow;
  readonly path: string;
  readonly columns: readonly Shown[];
  readonly hasNamespaces: boolean;
  readonly age: string;
  readonly isActive: boolean;
}

const Cells = memo(function Cells({ row, path, columns, hasNamespaces, age, isActive }: CellsProps): ReactNode {
  return (
    <>
      {hasNamespaces ? <div role="cell">{row.namespace}</div> : null}
      {columns.map(({ column: { name }, index }, position) => {
        const text = name === 'Age' ? age : String(row.cells[index] ?? '');
        if (position === 0)
          return (
            <div role="rowheader" key={name}>
              <a href={path} tabIndex={isActive ? 0 : -1}>
                {text || row.name}
              </a>
            </div>
          );
        return (
          <div role="cell" key={name} data-tone={toneOf(text)} title={text.length > 24 ? text : undefined}>
            {text}
          </div>
        );
      })}
    </>
  );
});
