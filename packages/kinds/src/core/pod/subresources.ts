import { type Container, type Pod, type PodSpec, cloneJson } from '@gantry/objects';
import { restoreField } from '../../fields/status.ts';

const METADATA = ['deletionTimestamp', 'generation', 'labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/** Restores what an update through a subresource must not change: client metadata and the status. */
function keepRest(object: Pod, old: Pod): void {
  for (const field of METADATA) {
    if (old.metadata[field] === undefined) Reflect.deleteProperty(object.metadata, field);
    else Object.assign(object.metadata, { [field]: old.metadata[field] });
  }
  restoreField(object, old, 'status');
}

/** Applies only the ephemeral containers of an update through their subresource. */
export function takeEphemeralContainers(object: Pod, old: Pod): void {
  const { ephemeralContainers } = object.spec ?? {};
  keepRest(object, old);
  object.spec = specWith(old, { ephemeralContainers });
}

/** Applies only resources and resize policies. If the containers differ, the rules reject the update. */
export function takeResources(object: Pod, old: Pod): void {
  const spec: Partial<PodSpec> = object.spec ?? {};
  const before: Partial<PodSpec> = old.spec ?? {};
  const isSame = (['containers', 'initContainers'] as const).every(
    (field) => (spec[field] ?? []).length === (before[field] ?? []).length,
  );
  if (!isSame) return;
  keepRest(object, old);
  object.spec = specWith(old, {
    containers: merged(spec.containers, before.containers),
    initContainers: merged(spec.initContainers, before.initContainers),
    resources: spec.resources,
  });
}

function specWith(old: Pod, parts: { [K in keyof PodSpec]?: PodSpec[K] | undefined }): PodSpec {
  const spec: Record<string, unknown> = { ...cloneJson(old.spec ?? { containers: [] }) };
  for (const [field, value] of Object.entries(parts)) {
    if (value === undefined) Reflect.deleteProperty(spec, field);
    else spec[field] = value;
  }
  return spec as PodSpec;
}

function merged(
  containers: readonly Container[] | undefined,
  before: readonly Container[] | undefined,
): Container[] | undefined {
  if (containers === undefined) return undefined;
  const isRenamed = containers.some(({ name }, i) => name !== before?.[i]?.name);
  if (isRenamed) return [...containers];
  return containers.map(({ resources, resizePolicy }, i) => {
    const { resources: _, resizePolicy: __, ...rest } = cloneJson(before?.[i] ?? { name: '' });
    return {
      ...rest,
      ...(resources === undefined ? {} : { resources }),
      ...(resizePolicy === undefined ? {} : { resizePolicy }),
    };
  });
}
