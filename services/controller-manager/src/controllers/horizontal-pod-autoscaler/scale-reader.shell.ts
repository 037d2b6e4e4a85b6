import { pathOf } from '@gantry/client';
import type { HorizontalPodAutoscaler, Resource, Scale } from '@gantry/objects';
import { type Kinds, resourceOfKind } from './kinds.ts';
import type { TargetScale } from './plan.ts';
import { type ReadPath, readFailure } from './rest-reader.ts';

/** Reads the scale of an autoscaler's target. */
export async function readScale(
  { metadata, spec }: HorizontalPodAutoscaler,
  kinds: Kinds,
  read: ReadPath,
  signal: AbortSignal,
): Promise<{ readonly target: TargetScale; readonly resource?: Resource }> {
  const resource = resourceOfKind(spec.scaleTargetRef, kinds);
  if (typeof resource === 'string') return { target: { kind: 'failed', message: resource } };
  try {
    const path = pathOf(resource, metadata.namespace ?? '', spec.scaleTargetRef.name, 'scale');
    const scale = (await read(path, signal)) as unknown as Scale;
    return { target: { kind: 'found', scale }, resource };
  } catch (error) {
    signal.throwIfAborted();
    // Kubernetes' client of scales names no group.
    const what = `${resource.resource} ${spec.scaleTargetRef.name}`;
    return { target: { kind: 'failed', message: readFailure(error, what) } };
  }
}
