import type { KubeObject, ObjectMeta } from '@gantry/objects';
import type { Format } from './live-collection.ts';

/** A column as the server's Table defines it. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0: always shown; others: when a person wants more. */
  readonly priority: number;
}

export type Cell = string | number | boolean | null;

/** A row of the server's Table with the part of the metadata that the console uses. */
export interface TableRow {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly isTerminating: boolean;
  readonly cells: readonly Cell[];
}

interface Table {
  /** Null in all events of a watch but the first. */
  readonly columnDefinitions?: readonly Column[] | null;
  readonly rows?:
    | readonly { readonly cells?: readonly unknown[]; readonly object?: { readonly metadata?: ObjectMeta } }[]
    | null;
}

/** Rows of the server's Tables. `onColumns` receives the columns, which only the first response of a watch repeats. */
export function tableFormat(onColumns: (columns: readonly Column[]) => void): Format<TableRow> {
  return {
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    query: { includeObject: 'Metadata' },
    rowsOf: (body) => {
      const { columnDefinitions, rows } = body as Table;
      if (columnDefinitions && columnDefinitions.length > 0) onColumns(columnDefinitions);
      return (rows ?? []).map(({ cells = [], object }) => ({
        ...summaryOf(object?.metadata ?? {}),
        cells: cells.map(cellFrom),
      }));
    },
    keyOf: ({ uid, namespace, name }) => uid || `${namespace}/${name}`,
  };
}

/** Characters of a cell that are kept: a column of a custom resource may show a text of a megabyte. */
const MAX_CELL = 500;

/** A cell of a Table: also a list or a map, which the servers of other groups may send. */
function cellFrom(value: unknown): Cell {
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean')
    return value ?? null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL)}…` : text;
}

function summaryOf(metadata: ObjectMeta): Omit<TableRow, 'cells'> {
  return {
    uid: metadata.uid ?? '',
    name: metadata.name ?? '',
    namespace: metadata.namespace ?? '',
    labels: metadata.labels ?? {},
    createdAt: Date.parse(metadata.creationTimestamp ?? ''),
    isTerminating: metadata.deletionTimestamp !== undefined,
  };
}

/** Whole objects, of which `project` keeps what is needed: thousands of objects would take much memory. */
export function objectFormat<Row extends { readonly uid: string }>(project: (object: KubeObject) => Row): Format<Row> {
  return {
    accept: 'application/json',
    query: {},
    rowsOf: (body) => {
      const { items } = body as { items?: readonly KubeObject[] };
      return (items ?? [body as KubeObject]).map(project);
    },
    keyOf: ({ uid }) => uid,
  };
}
