import type { VolumeProjection } from '@gantry/objects';
import { append } from '@gantry/base';
import { AgentError } from '../../runtime/agent-error.ts';
import type { VolumeFile } from './atomic-folder.ts';
import { checkedPath, DEFAULT_MODE } from './volume-file.ts';
import { defineFileVolumeType, type VolumeContext } from './volume-type.ts';
import { configMapFiles } from './config-map.ts';
import { downwardApiFiles } from './downward-api.ts';
import { secretFiles } from './secret.ts';

/** Several sources in one folder; a later source wins when two write the same path. */
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
  { configMap, secret, downwardAPI, serviceAccountToken, ...others }: VolumeProjection,
  mode: number,
  context: VolumeContext,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  if (configMap !== undefined) return configMapFiles(configMap, mode, context, signal);
  if (secret !== undefined) return secretFiles(secret, mode, context, signal);
  if (downwardAPI !== undefined) return downwardApiFiles(downwardAPI.items ?? [], mode, context);
  if (serviceAccountToken !== undefined) {
    const token = await context.token(serviceAccountToken, signal);
    return [{ path: checkedPath(serviceAccountToken.path), content: Buffer.from(token), mode }];
  }
  throw new AgentError('FailedMount', `projected source ${Object.keys(others).join(', ')} is not supported`);
}
