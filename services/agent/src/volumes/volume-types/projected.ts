import type { VolumeProjection, DownwardAPIVolumeFile } from '@gantry/objects';
import { append } from '@gantry/base';
import { fileOwnersOf } from '../../spec/file-owners.ts';
import { AgentError } from '../../runtime/agent-error.ts';
import type { VolumeFile } from './atomic-folder.ts';
import { counted, DEFAULT_MODE, configMapFiles, secretFiles } from './volume-file.ts';
import { defineFileVolumeType, type VolumeContext } from './volume-type.ts';
import { trustBundleFiles } from './trust-bundle.ts';
import { namedContainer, podField, resourceField } from '../../spec/field-values.ts';

/** Fields of the pod and resources of its containers. */
export const downwardApiVolume = defineFileVolumeType(
  'downwardAPI',
  'memory',
  async ({ items = [], defaultMode = DEFAULT_MODE }, context) => downwardApiFiles(items, defaultMode, context),
);

/** The files of downward API items, for this volume type and for projected volumes. Items of the same field share its value. */
function downwardApiFiles(
  items: readonly DownwardAPIVolumeFile[],
  mode: number,
  { pod, podAddress, facts, budget }: VolumeContext,
): readonly VolumeFile[] {
  const fields = new Map<string, Buffer>();
  return items.map(({ path, mode: own, fieldRef, resourceFieldRef }) => {
    const known = fields.get(fieldRef?.fieldPath ?? '');
    if (known !== undefined) return counted({ path, content: known, mode: own ?? mode }, budget);
    const container = resourceFieldRef === undefined ? undefined : namedContainer(pod, resourceFieldRef);
    const value =
      fieldRef !== undefined
        ? podField(pod, fieldRef.fieldPath, podAddress, facts)
        : resourceFieldRef !== undefined && container !== undefined
          ? resourceField(pod, container, resourceFieldRef, facts)
          : undefined;
    if (value === undefined) throw new AgentError('FailedMount', `downward API item ${path} names no known field`);
    const content = Buffer.from(value);
    if (fieldRef !== undefined) fields.set(fieldRef.fieldPath, content);
    return counted({ path, content, mode: own ?? mode }, budget);
  });
}

const TOKEN_MODE = 0o600;

/** Several sources in one folder; for equal paths, the last source wins. */
export const projectedVolume = defineFileVolumeType(
  'projected',
  'memory',
  async ({ sources = [], defaultMode = DEFAULT_MODE }, context, signal) => {
    const files: VolumeFile[] = [];
    for (const source of sources) append(files, await projectedFiles(source, defaultMode, context, signal));
    return [...new Map(files.map((file) => [file.path, file])).values()];
  },
);

async function projectedFiles(
  { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, ...others }: VolumeProjection,
  mode: number,
  context: VolumeContext,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  if (configMap !== undefined) return configMapFiles(configMap, mode, context, signal);
  if (secret !== undefined) return secretFiles(secret, mode, context, signal);
  if (downwardAPI !== undefined) return downwardApiFiles(downwardAPI.items ?? [], mode, context);
  if (serviceAccountToken !== undefined) {
    const { group, user } = fileOwnersOf(context.pod);
    const token = await context.token(serviceAccountToken, signal);
    // Accessible to the pod's user or group only, if the pod names one.
    const tokenMode = group === undefined && user === undefined ? mode : TOKEN_MODE;
    const file = { path: serviceAccountToken.path, content: Buffer.from(token), mode: tokenMode, user };
    return [counted(file, context.budget)];
  }
  if (clusterTrustBundle !== undefined) return trustBundleFiles(clusterTrustBundle, mode, context, signal);
  throw new AgentError('FailedMount', `projected source ${Object.keys(others).join(', ')} is not supported`);
}
