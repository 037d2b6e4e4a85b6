import type { ConfigMap } from '@gantry/objects';
import type { VolumeFile } from './atomic-folder.ts';
import { DEFAULT_MODE, keyFiles, type KeysReference, referenced } from './volume-file.ts';
import { defineFileVolumeType, type VolumeContext } from './volume-type.ts';

/** The keys of a ConfigMap. */
export const configMapVolume = defineFileVolumeType('configMap', 'disk', (source, context, signal) =>
  configMapFiles(source, source.defaultMode ?? DEFAULT_MODE, context, signal),
);

/** The files of a ConfigMap, for this volume type and for projected volumes. */
export async function configMapFiles(
  reference: KeysReference,
  mode: number,
  { pod, source }: VolumeContext,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  const found = await source.configMap(pod.metadata.namespace ?? '', reference.name ?? '', signal);
  return keyFiles(
    dataOf(referenced('configmap', reference, found)),
    reference,
    mode,
    'configmap references non-existent config key',
  );
}

function dataOf(map: ConfigMap | undefined): ReadonlyMap<string, Buffer> {
  return new Map([
    ...Object.entries(map?.data ?? {}).map(([key, text]) => [key, Buffer.from(text)] as const),
    ...Object.entries(map?.binaryData ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const),
  ]);
}
