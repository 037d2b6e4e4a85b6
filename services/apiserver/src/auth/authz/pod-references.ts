import { claimsOfPod, type Container, type EphemeralContainer, type Pod } from '@gantry/objects';

/** Names of the ConfigMaps that a pod uses. */
export function configMapsOf(pod: Pod): ReadonlySet<string> {
  const names = new Set<string>();
  for (const volume of pod.spec?.volumes ?? []) {
    add(names, volume.configMap?.name);
    for (const source of volume.projected?.sources ?? []) add(names, source.configMap?.name);
  }
  for (const container of containersOf(pod)) {
    for (const source of container.envFrom ?? []) add(names, source.configMapRef?.name);
    for (const variable of container.env ?? []) add(names, variable.valueFrom?.configMapKeyRef?.name);
  }
  return names;
}

/** Names of the PersistentVolumeClaims that a pod uses, with those that are made for its ephemeral volumes. */
export function claimsOf(pod: Pod): ReadonlySet<string> {
  return new Set(claimsOfPod(pod).filter((name) => name !== ''));
}

/** Names of the ResourceClaims that a pod uses, with those that were made from templates for it. */
export function resourceClaimsOf({ spec, status }: Pod): ReadonlySet<string> {
  const names = new Set<string>();
  for (const claim of spec?.resourceClaims ?? []) add(names, claim.resourceClaimName);
  for (const made of status?.resourceClaimStatuses ?? []) add(names, made.resourceClaimName);
  return names;
}

function containersOf(pod: Pod): readonly (Container | EphemeralContainer)[] {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers];
}

function add(names: Set<string>, name: string | undefined): void {
  if (name !== undefined && name !== '') names.add(name);
}
