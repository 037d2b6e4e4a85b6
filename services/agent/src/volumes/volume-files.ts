import { append } from '@gantry/base';
import type {
  ConfigMap,
  DownwardAPIVolumeFile,
  KeyToPath,
  Pod,
  Secret,
  ServiceAccountTokenProjection,
  Volume,
  VolumeProjection,
} from '@gantry/api';
import { AgentError } from '../agent-error.ts';
import type { ConfigSource } from '../pods/environment.ts';
import { type NodeFacts, podField, resourceField } from '../pods/field-values.ts';
import type { VolumeFile } from './atomic-folder.ts';

export interface VolumeContext {
  readonly pod: Pod;
  readonly podAddress: string;
  readonly facts: NodeFacts;
  readonly source: ConfigSource;
  readonly token: (projection: ServiceAccountTokenProjection, signal: AbortSignal) => Promise<string>;
}

/** Volumes whose content comes from the API. */
export type FileVolume = Pick<Volume, 'name' | 'configMap' | 'secret' | 'projected' | 'downwardAPI'>;

const DEFAULT_MODE = 0o644;

/** The files of a volume. AgentError 'FailedMount' with kubelet's words when something referred to is missing. */
export async function volumeFiles(
  volume: FileVolume,
  context: VolumeContext,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  const { configMap, secret, projected, downwardAPI } = volume;
  if (configMap !== undefined) {
    return configMapFiles(configMap, configMap.defaultMode ?? DEFAULT_MODE, context, signal);
  }
  if (secret !== undefined) {
    const { secretName: name, items, optional, defaultMode = DEFAULT_MODE } = secret;
    return secretFiles({ name, items, optional }, defaultMode, context, signal);
  }
  if (downwardAPI !== undefined) {
    return downwardFiles(downwardAPI.items ?? [], downwardAPI.defaultMode ?? DEFAULT_MODE, context);
  }
  const files: VolumeFile[] = [];
  for (const source of projected?.sources ?? []) {
    append(files, await projectedFiles(source, projected?.defaultMode ?? DEFAULT_MODE, context, signal));
  }
  // A later source wins where two write the same path.
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

async function projectedFiles(
  source: VolumeProjection,
  mode: number,
  context: VolumeContext,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  if (source.configMap !== undefined) return configMapFiles(source.configMap, mode, context, signal);
  if (source.secret !== undefined) return secretFiles(source.secret, mode, context, signal);
  if (source.downwardAPI !== undefined) return downwardFiles(source.downwardAPI.items ?? [], mode, context);
  if (source.serviceAccountToken !== undefined) {
    const token = await context.token(source.serviceAccountToken, signal);
    return [{ path: checked(source.serviceAccountToken.path), content: Buffer.from(token), mode }];
  }
  throw new AgentError('FailedMount', `projected source ${Object.keys(source).join(', ')} is not supported`);
}

interface Reference {
  readonly name?: string | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
  readonly optional?: boolean | undefined;
}

async function configMapFiles(reference: Reference, mode: number, context: VolumeContext, signal: AbortSignal) {
  const namespace = context.pod.metadata.namespace ?? '';
  const found = await context.source.configMap(namespace, reference.name ?? '', signal);
  if (found === undefined && reference.optional !== true) {
    throw new AgentError('FailedMount', `configmap "${reference.name ?? ''}" not found`);
  }
  return keyFiles(configMapData(found), reference, mode, `configmap references non-existent config key`);
}

async function secretFiles(reference: Reference, mode: number, context: VolumeContext, signal: AbortSignal) {
  const namespace = context.pod.metadata.namespace ?? '';
  const found = await context.source.secret(namespace, reference.name ?? '', signal);
  if (found === undefined && reference.optional !== true) {
    throw new AgentError('FailedMount', `secret "${reference.name ?? ''}" not found`);
  }
  return keyFiles(secretData(found), reference, mode, `references non-existent secret key`);
}

function configMapData(map: ConfigMap | undefined): ReadonlyMap<string, Buffer> {
  return new Map([
    ...Object.entries(map?.data ?? {}).map(([key, text]) => [key, Buffer.from(text)] as const),
    ...Object.entries(map?.binaryData ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const),
  ]);
}

function secretData(secret: Secret | undefined): ReadonlyMap<string, Buffer> {
  return new Map(Object.entries(secret?.data ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const));
}

function keyFiles(
  data: ReadonlyMap<string, Buffer>,
  { items, optional }: Reference,
  mode: number,
  missing: string,
): readonly VolumeFile[] {
  if (items === undefined) return [...data].map(([path, content]) => ({ path: checked(path), content, mode }));
  return items.flatMap((item) => {
    const content = data.get(item.key);
    if (content === undefined && optional !== true) throw new AgentError('FailedMount', `${missing}: ${item.key}`);
    return content === undefined ? [] : [{ path: checked(item.path), content, mode: item.mode ?? mode }];
  });
}

function downwardFiles(
  items: readonly DownwardAPIVolumeFile[],
  mode: number,
  { pod, podAddress, facts }: VolumeContext,
): readonly VolumeFile[] {
  return items.map((item) => {
    const container = pod.spec?.containers.find((each) => each.name === item.resourceFieldRef?.containerName);
    const value =
      item.fieldRef !== undefined
        ? podField(pod, item.fieldRef.fieldPath, podAddress, facts)
        : item.resourceFieldRef !== undefined && container !== undefined
          ? resourceField(container, item.resourceFieldRef, facts)
          : undefined;
    if (value === undefined) throw new AgentError('FailedMount', `downward API item ${item.path} names no known field`);
    return { path: checked(item.path), content: Buffer.from(value), mode: item.mode ?? mode };
  });
}

/** A path that cannot leave its volume. */
function checked(path: string): string {
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
