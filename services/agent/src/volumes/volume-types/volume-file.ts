import type { KeyToPath, ConfigMap, Secret } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import type { ContentBudget } from '../content-budget.ts';
import type { VolumeFile } from './atomic-folder.ts';
import { defineFileVolumeType, type VolumeContext } from './volume-type.ts';

/** The mode of files when neither the volume nor the item sets one. */
export const DEFAULT_MODE = 0o644;

/** A reference to an object whose keys become files. */
export interface KeysReference {
  readonly name?: string | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
  readonly optional?: boolean | undefined;
}

/** The referenced object; undefined when it is missing but optional. AgentError 'FailedMount' when it is missing and not optional. */
export function referenced<T>(
  kind: string,
  { name = '', optional }: KeysReference,
  found: T | undefined,
): T | undefined {
  if (found !== undefined || optional === true) return found;
  throw new AgentError('FailedMount', `${kind} "${name}" not found`);
}

/** The files of an object's keys: all keys, or those in `items`. `missing` is the start of the error message for an absent key. */
export function keyFiles(
  data: ReadonlyMap<string, Buffer>,
  { items, optional }: KeysReference,
  mode: number,
  missing: string,
  budget: ContentBudget,
): readonly VolumeFile[] {
  if (items === undefined) return [...data].map(([path, content]) => counted({ path, content, mode }, budget));
  return items.flatMap((item) => {
    const content = data.get(item.key);
    if (content === undefined && optional !== true) throw new AgentError('FailedMount', `${missing}: ${item.key}`);
    return content === undefined ? [] : [counted({ path: item.path, content, mode: item.mode ?? mode }, budget)];
  });
}

/** Returns `file`, counted. AgentError 'FailedMount' for a path that could lead out of its volume, and for too much content. */
export function counted(file: VolumeFile, budget: ContentBudget): VolumeFile {
  budget.add(checkedPath(file.path), file.content.length);
  return file;
}

/** Returns `path`. AgentError 'FailedMount' when the path could lead out of its volume. */
export function checkedPath(path: string): string {
  const parts = path.split('/');
  if (
    path === '' ||
    path.startsWith('/') ||
    parts.some((part) => part === '..' || part === '.' || part === '') ||
    path.startsWith('..')
  ) {
    throw new AgentError('FailedMount', `invalid path ${JSON.stringify(path)} in a volume`);
  }
  return path;
}

/** The keys of a ConfigMap. */
export const configMapVolume = defineFileVolumeType('configMap', 'disk', (source, context, signal) =>
  configMapFiles(source, source.defaultMode ?? DEFAULT_MODE, context, signal),
);

/** The files of a ConfigMap, for this volume type and for projected volumes. */
export async function configMapFiles(
  reference: KeysReference,
  mode: number,
  { pod, source, budget }: VolumeContext,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  const found = await source.configMap(pod.metadata.namespace ?? '', reference.name ?? '', signal);
  return keyFiles(
    configMapData(referenced('configmap', reference, found)),
    reference,
    mode,
    'configmap references non-existent config key',
    budget,
  );
}

const configMapData = decodedOnce((map: ConfigMap) => [
  ...Object.entries(map.data ?? {}).map(([key, text]) => [key, Buffer.from(text)] as const),
  ...Object.entries(map.binaryData ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const),
]);

/** The keys of a Secret. */
export const secretVolume = defineFileVolumeType(
  'secret',
  'memory',
  ({ secretName: name, items, optional, defaultMode = DEFAULT_MODE }, context, signal) =>
    secretFiles({ name, items, optional }, defaultMode, context, signal),
);

/** The files of a Secret, for this volume type and for projected volumes. */
export async function secretFiles(
  reference: KeysReference,
  mode: number,
  { pod, source, budget }: VolumeContext,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  const found = await source.secret(pod.metadata.namespace ?? '', reference.name ?? '', signal);
  return keyFiles(
    secretData(referenced('secret', reference, found)),
    reference,
    mode,
    'references non-existent secret key',
    budget,
  );
}

const secretData = decodedOnce((secret: Secret) =>
  Object.entries(secret.data ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const),
);

/** Decodes the data of each object once, so that all files with its keys share one copy. */
function decodedOnce<T extends object>(
  decode: (object: T) => readonly (readonly [string, Buffer])[],
): (object: T | undefined) => ReadonlyMap<string, Buffer> {
  const decoded = new WeakMap<T, ReadonlyMap<string, Buffer>>();
  return (object) => {
    if (object === undefined) return new Map();
    const data = decoded.get(object) ?? new Map(decode(object));
    decoded.set(object, data);
    return data;
  };
}
