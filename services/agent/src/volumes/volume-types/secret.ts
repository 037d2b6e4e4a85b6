import type { Secret } from '@gantry/objects';
import type { VolumeFile } from './atomic-folder.ts';
import { DEFAULT_MODE, keyFiles, type KeysReference, referenced } from './volume-file.ts';
import { defineFileVolumeType, type VolumeContext } from './volume-type.ts';

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
  { pod, source }: VolumeContext,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  const found = await source.secret(pod.metadata.namespace ?? '', reference.name ?? '', signal);
  return keyFiles(
    dataOf(referenced('secret', reference, found)),
    reference,
    mode,
    'references non-existent secret key',
  );
}

function dataOf(secret: Secret | undefined): ReadonlyMap<string, Buffer> {
  return new Map(Object.entries(secret?.data ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const));
}
