import { equalJson, type Json, type JsonObject, type KubeObject, memberOf } from '@gantry/objects';

/** What happened to an object between two moments. */
export interface Change {
  readonly what: 'created' | 'deleted' | 'changed';
  readonly object: KubeObject;
  readonly fields: readonly FieldChange[];
  /** Who wrote between the moments; of a new object, all managers. */
  readonly writers: readonly string[];
}

export interface FieldChange {
  /** `.spec.replicas` */
  readonly path: string;
  /** JSON; '' when there was nothing. */
  readonly before: string;
  readonly after: string;
}

/** Fields of an object that are listed. */
const MAX_FIELDS = 20;
/** Longer values are cut. */
const MAX_VALUE = 200;

/** The beginning of a list, in the order of keys. */
export interface Part {
  readonly items: readonly KubeObject[];
  /** The list goes on. */
  readonly isCut: boolean;
}

/** Both parts as far as both go: what is behind the end of one of them may be in its list nevertheless. */
export function commonPart(before: Part, after: Part): { before: readonly KubeObject[]; after: readonly KubeObject[] } {
  const ends = [before, after].flatMap(({ items, isCut }) => (isCut ? items.slice(-1).map(keyOf) : []));
  const isIn = (object: KubeObject) => ends.every((end) => keyOf(object) <= end);
  return { before: before.items.filter(isIn), after: after.items.filter(isIn) };
}

const keyOf = ({ metadata: { namespace = '', name = '' } }: KubeObject) => `${namespace}/${name}`;

/** What changed between two lists of the same resource, in the order of names. `since` is the time of the first, Unix milliseconds. */
export function changesBetween(
  before: readonly KubeObject[],
  after: readonly KubeObject[],
  since: number,
): readonly Change[] {
  const old = new Map(before.map((object) => [object.metadata.uid, object]));
  const changes: Change[] = [];
  for (const object of after) {
    const former = old.get(object.metadata.uid);
    old.delete(object.metadata.uid);
    if (former === undefined)
      changes.push({ what: 'created', object, fields: [], writers: writersOf(object, Number.NEGATIVE_INFINITY) });
    else if (former.metadata.resourceVersion !== object.metadata.resourceVersion)
      changes.push({
        what: 'changed',
        object,
        fields: fieldChanges(former, object),
        writers: writersOf(object, since),
      });
  }
  for (const object of old.values()) changes.push({ what: 'deleted', object, fields: [], writers: [] });
  return changes.sort((a, b) => (keyOf(a.object) < keyOf(b.object) ? -1 : 1));
}

/** The managers that wrote at or after a time. Times of managers have whole seconds. */
function writersOf({ metadata }: KubeObject, since: number): readonly string[] {
  const entries = (metadata.managedFields ?? []).filter(
    ({ time }) => time === undefined || Date.parse(time) >= Math.floor(since / 1000) * 1000,
  );
  const names = entries.map(({ manager = '', operation = '', subresource }) =>
    [manager, `(${operation}${subresource === undefined ? '' : ` of ${subresource}`})`].join(' '),
  );
  return [...new Set(names)];
}

/** What the server keeps about writes, and so changes with each. */
const BOOKKEEPING = ['resourceVersion', 'managedFields', 'generation'];

function fieldChanges(before: KubeObject, after: KubeObject): readonly FieldChange[] {
  const out: FieldChange[] = [];
  const strip = ({ metadata, ...rest }: KubeObject): JsonObject => {
    const kept = Object.entries(metadata).filter(([name]) => !BOOKKEEPING.includes(name));
    return { ...rest, metadata: Object.fromEntries(kept) } as unknown as JsonObject;
  };
  compare(strip(before), strip(after), '', out);
  return out.slice(0, MAX_FIELDS);
}

function compare(before: Json | undefined, after: Json | undefined, path: string, out: FieldChange[]): void {
  if (equalJson(before, after) || out.length >= MAX_FIELDS) return;
  if (isMap(before) && isMap(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare(
        memberOf(before, key),
        memberOf(after, key),
        `${path}${/^[\w-]+$/.test(key) ? `.${key}` : `["${key}"]`}`,
        out,
      );
    return;
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const byKey = keyOfItems(before, after);
    if (byKey !== undefined) {
      compareItems(before, after, { path, key: byKey }, out);
      return;
    }
  }
  out.push({ path, before: short(before), after: short(after) });
}

interface ItemPath {
  readonly path: string;
  readonly key: string;
}

function compareItems(
  before: readonly Json[],
  after: readonly Json[],
  { path, key }: ItemPath,
  out: FieldChange[],
): void {
  const find = (items: readonly Json[], value: Json | undefined) =>
    items.find((item) => isMap(item) && item[key] === value);
  const values = new Set([...before, ...after].map((item) => (item as JsonObject)[key]));
  for (const value of values) compare(find(before, value), find(after, value), `${path}[${key}=${String(value)}]`, out);
}

/** The member by which the items of both lists can be told apart: their name or type. */
function keyOfItems(before: readonly Json[], after: readonly Json[]): string | undefined {
  const isUnique = (items: readonly Json[], key: string) =>
    items.every((item) => isMap(item) && typeof item[key] === 'string') &&
    new Set(items.map((item) => (item as JsonObject)[key])).size === items.length;
  return ['name', 'type', 'uid', 'ip'].find((key) => isUnique(before, key) && isUnique(after, key));
}

function isMap(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function short(value: Json | undefined): string {
  if (value === undefined) return '';
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}
