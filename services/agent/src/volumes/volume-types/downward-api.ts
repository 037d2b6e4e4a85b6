import type { DownwardAPIVolumeFile } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import { namedContainer, podField, resourceField } from '../../spec/field-values.ts';
import type { VolumeFile } from './atomic-folder.ts';
import { checkedPath, DEFAULT_MODE } from './volume-file.ts';
import { defineFileVolumeType, type VolumeContext } from './volume-type.ts';

/** Fields of the pod and resources of its containers. */
export const downwardApiVolume = defineFileVolumeType(
  'downwardAPI',
  'memory',
  async ({ items = [], defaultMode = DEFAULT_MODE }, context) => downwardApiFiles(items, defaultMode, context),
);

/** The files of downward API items, for this volume type and for projected volumes. */
export function downwardApiFiles(
  items: readonly DownwardAPIVolumeFile[],
  mode: number,
  { pod, podAddress, facts }: VolumeContext,
): readonly VolumeFile[] {
  return items.map(({ path, mode: own, fieldRef, resourceFieldRef }) => {
    const container = resourceFieldRef === undefined ? undefined : namedContainer(pod, resourceFieldRef);
    const value =
      fieldRef !== undefined
        ? podField(pod, fieldRef.fieldPath, podAddress, facts)
        : resourceFieldRef !== undefined && container !== undefined
          ? resourceField(pod, container, resourceFieldRef, facts)
          : undefined;
    if (value === undefined) throw new AgentError('FailedMount', `downward API item ${path} names no known field`);
    return { path: checkedPath(path), content: Buffer.from(value), mode: own ?? mode };
  });
}
