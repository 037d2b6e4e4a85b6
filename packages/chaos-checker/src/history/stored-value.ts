/** Who wrote a value, and under which leadership. All fields are empty for a write without a fence. */
export interface Fence {
  readonly electionKey: string;
  readonly epoch: number;
  readonly incarnation: string;
}

/** A value of `/registry/`, as docs/storage.md describes it. */
export interface StoredValue extends Fence {
  /** The write's place in its transaction. */
  readonly index: number;
  readonly writer: string;
  /** The object's JSON; undefined if it is sealed. */
  readonly json: string | undefined;
}

const VERSION_BYTE = 0;
const SEALING_BYTE = 1;
const INDEX_BYTE = 2;
const LENGTH_AT = 4;
const WRITE_ID_AT = 6;
const EPOCH_AT = WRITE_ID_AT + 16;
const TEXTS_AT = EPOCH_AT + 8;

/** Decodes a stored value. Returns what is wrong with a value that the documented format does not allow. */
export function decodeStored(bytes: Buffer): StoredValue | string {
  if (bytes.length < TEXTS_AT + 3) return `${bytes.length} bytes are too short for a header`;
  if (bytes[VERSION_BYTE] !== 1) return `format version ${bytes[VERSION_BYTE]}`;
  const sealing = bytes[SEALING_BYTE] ?? 0;
  if (sealing > 1) return `sealing ${sealing}`;
  const headerBytes = bytes.readUInt16BE(LENGTH_AT);
  if (headerBytes > bytes.length) return `a header of ${headerBytes} bytes in a value of ${bytes.length}`;
  const texts: string[] = [];
  let at = TEXTS_AT;
  for (let i = 0; i < 3; i++) {
    const end = at + 1 + (bytes[at] ?? 0);
    if (end > headerBytes) return `a text of the header that ends at ${end}, after the header`;
    texts.push(bytes.toString('utf8', at + 1, end));
    at = end;
  }
  const [writer = '', electionKey = '', incarnation = ''] = texts;
  const json = sealing === 1 ? undefined : bytes.toString('utf8', headerBytes);
  const epoch = Number(bytes.readBigUInt64BE(EPOCH_AT));
  return { index: bytes[INDEX_BYTE] ?? 0, writer, electionKey, epoch, incarnation, json };
}

/** So many resourceVersions has a revision of etcd: a write's place in its transaction is the rest. */
export const VERSIONS_PER_REVISION = 256;

/** The resourceVersion of a write at this place of a revision. */
export function resourceVersionOf(revision: number, index: number): number {
  return revision * VERSIONS_PER_REVISION + index;
}

export const REGISTRY = '/registry/';
/** API groups without a dot. Any other first segment without a dot is a resource of the core group. */
const DOTLESS_GROUPS: ReadonlySet<string> = new Set(['apps', 'autoscaling', 'batch', 'extensions', 'policy']);

/** The parts of an object's key. */
export interface ObjectName {
  /** `<resource>` of the core group, else `<group>/<resource>`. */
  readonly resource: string;
  /** '' for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
}

/** Splits a key below `/registry/`; undefined for a key that names no object. */
export function parseObjectKey(key: string): ObjectName | undefined {
  const segments = key.slice(REGISTRY.length).split('/');
  const first = segments[0] ?? '';
  const grouped = first.includes('.') || DOTLESS_GROUPS.has(first);
  const resource = segments.slice(0, grouped ? 2 : 1).join('/');
  const rest = segments.slice(grouped ? 2 : 1);
  if (rest.length === 0 || rest.length > 2 || rest.includes('')) return undefined;
  const [namespace = '', name = ''] = rest.length === 2 ? rest : ['', rest[0]];
  return { resource, namespace, name };
}
