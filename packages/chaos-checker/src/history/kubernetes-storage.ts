import type { EtcdEvent } from '../artifacts.ts';
import { REGISTRY, type ObjectName, type StoredValue } from './stored-value.ts';

const NO_FENCE = { index: 0, writer: '', electionKey: '', epoch: 0, incarnation: '' } as const;
/** Resources whose place in the key is not their name. */
const PLACES: Readonly<Record<string, string>> = {
  minions: 'nodes',
  'services/specs': 'services',
  'services/endpoints': 'endpoints',
};
/** Its records have the form of Endpoints, and are none of the API. */
const API_SERVERS = `${REGISTRY}masterleases/`;

/** The beginnings of values as protocol buffers and as CBOR. */
const BINARY: readonly Buffer[] = [Buffer.from('k8s\0'), Buffer.from([0xd9, 0xd9, 0xf7])];

/** Reads the value of an API server that stores JSON (`--storage-media-type=application/json`). Returns what is wrong with another one. */
export function decodeKubernetes(bytes: Buffer): StoredValue | string {
  if (BINARY.some((magic) => bytes.subarray(0, magic.length).equals(magic)))
    return 'no JSON: the API server needs --storage-media-type=application/json';
  return { ...NO_FENCE, json: bytes.toString() };
}

interface StoredObject {
  readonly apiVersion?: string;
  readonly metadata?: { readonly namespace?: string; readonly name?: string };
}

/**
 * Names of the objects in etcd of a kube-apiserver. Keys of the built-in groups do not have the group, so it is read from the object. A key
 * without an object that has a name, such as the range of used ports, is none of the API.
 */
export class KubernetesNames {
  readonly #known = new Map<string, ObjectName>();

  /** undefined: the key is none of an object. */
  nameOf(event: EtcdEvent): ObjectName | undefined {
    const known = this.#known.get(event.key);
    if (known !== undefined) return known;
    if (event.type === 'delete') return undefined;
    const name = readName(event.key, Buffer.from(event.value, 'base64').toString());
    if (name !== undefined) this.#known.set(event.key, name);
    return name;
  }
}

function readName(key: string, json: string): ObjectName | undefined {
  const object = parse(json);
  const { name = '', namespace = '' } = object?.metadata ?? {};
  const below = namespace === '' ? `/${name}` : `/${namespace}/${name}`;
  if (name === '' || key.startsWith(API_SERVERS) || !key.endsWith(below)) return undefined;
  const place = key.slice(REGISTRY.length, -below.length);
  const plural = PLACES[place] ?? place.split('/').at(-1) ?? '';
  const [group = ''] = object?.apiVersion?.includes('/') === true ? object.apiVersion.split('/') : [];
  return { resource: group === '' ? plural : `${group}/${plural}`, namespace, name };
}

function parse(json: string): StoredObject | undefined {
  try {
    return JSON.parse(json) as StoredObject;
  } catch {
    return undefined;
  }
}
