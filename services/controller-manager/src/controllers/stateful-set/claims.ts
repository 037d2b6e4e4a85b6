import {
  cloneJson,
  type ObjectKey,
  type PersistentVolumeClaim,
  type Pod,
  type PodSpec,
  type StatefulSet,
  type Volume,
} from '@gantry/objects';

/** The name of an ordinal's claim for a claim template. */
export function claimName(set: StatefulSet, template: PersistentVolumeClaim, ordinal: number): string {
  return `${template.metadata.name ?? ''}-${set.metadata.name ?? ''}-${ordinal}`;
}

/** A new claim of an ordinal: the template with the labels of the set's selector, without owners. */
export function newClaim(set: StatefulSet, template: PersistentVolumeClaim, ordinal: number): PersistentVolumeClaim {
  const { status: _, ...claim } = cloneJson(template);
  const labels = { ...claim.metadata.labels, ...set.spec?.selector.matchLabels };
  const { namespace = '' } = set.metadata;
  return {
    ...claim,
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...claim.metadata, name: claimName(set, template, ordinal), namespace, labels },
  };
}

/** Whether a pod mounts the claims of its ordinal, each as the volume named after its template. */
export function mountsClaims(set: StatefulSet, pod: Pod, ordinal: number): boolean {
  const claimOf = new Map(
    pod.spec?.volumes?.map(({ name, persistentVolumeClaim }) => [name, persistentVolumeClaim?.claimName]),
  );
  return claimTemplates(set).every(
    (template) => claimOf.get(template.metadata.name ?? '') === claimName(set, template, ordinal),
  );
}

/** Adds the claims of its ordinal as volumes, replacing volumes with the same names. Changes the pod. */
export function mountClaims(set: StatefulSet, pod: Pod, ordinal: number): void {
  const templates = claimTemplates(set);
  if (templates.length === 0) return;
  const volumes = templates.map((template): Volume => {
    const persistentVolumeClaim = { claimName: claimName(set, template, ordinal) };
    return { name: template.metadata.name ?? '', persistentVolumeClaim };
  });
  const names = new Set(volumes.map(({ name }) => name));
  const spec: PodSpec = pod.spec ?? { containers: [] };
  pod.spec = { ...spec, volumes: [...volumes, ...(spec.volumes ?? []).filter(({ name }) => !names.has(name))] };
}

export function claimTemplates({ spec }: StatefulSet): readonly PersistentVolumeClaim[] {
  return spec?.volumeClaimTemplates ?? [];
}

/** The sets that may use a claim, by its name, which consists of a template, a set and an ordinal. All possible set names are looked up. */
export function setsOfClaim(
  find: (set: ObjectKey) => StatefulSet | undefined,
  { metadata: { namespace = '', name = '' } }: PersistentVolumeClaim,
): readonly StatefulSet[] {
  const [, prefix = '', ordinal] = /^(.+)-(\d+)$/.exec(name) ?? [];
  const dashes = [...prefix.matchAll(/-/g)].map(({ index }) => index);
  return dashes.flatMap((dash) => {
    const set = find({ namespace, name: prefix.slice(dash + 1) });
    if (set === undefined) return [];
    const isUsed = claimTemplates(set).some((template) => claimName(set, template, Number(ordinal)) === name);
    return isUsed ? [set] : [];
  });
}
