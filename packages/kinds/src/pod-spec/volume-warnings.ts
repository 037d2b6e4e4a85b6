import { type PersistentVolumeClaimSpec, type Volume, type VolumeProjection, parseQuantity } from '@gantry/objects';

const NANO_PER_BYTE = 1_000_000_000n;

/** Deprecated volume types. */
const OLD_VOLUMES = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11, and disabled by default in v1.33+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
} as const;

/** Fields that messages name differently. */
const SHOWN: Readonly<Record<string, string>> = { storageos: 'storageOS' };

export function volumeWarnings(volumes: readonly Volume[], path: string): string[] {
  return volumes.flatMap((volume, i) =>
    Object.entries(OLD_VOLUMES).flatMap(([kind, advice]) =>
      volume[kind as keyof typeof OLD_VOLUMES] === undefined ? [] : [`${path}[${i}].${SHOWN[kind] ?? kind}: ${advice}`],
    ),
  );
}

/** Warns about sizes of a claim that are not a whole number of bytes. */
export function claimSpecWarnings(spec: PersistentVolumeClaimSpec | undefined, path: string): string[] {
  return (['requests', 'limits'] as const).flatMap((field) => {
    const amount = spec?.resources?.[field]?.['storage'];
    if (amount === undefined || parseQuantity(amount).nano % NANO_PER_BYTE === 0n) return [];
    const text = `fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`;
    return [`${path}.resources.${field}[storage]: ${text}`];
  });
}

/** A path in a volume and its source; '' if the volume has only one source. */
interface Placed {
  readonly path: string;
  readonly source: string;
}

/** Warns about files of one volume whose paths overlap. */
export function overlapWarnings(volumes: readonly Volume[]): string[] {
  return volumes.flatMap(({ name, configMap, secret, downwardAPI, projected }) => {
    const quoted = JSON.stringify(name);
    const tell = (what: string, placed: readonly Placed[]) =>
      overlaps(placed).map((text) => `volume ${quoted} (${what}): overlapping paths: ${text}`);
    const one = (items: readonly { readonly path: string }[] | undefined) =>
      (items ?? []).map(({ path }) => ({ path, source: '' }));
    const empty = (projected?.sources ?? []).filter((source) => Object.keys(source).length === 0);
    return [
      ...tell(`ConfigMap ${JSON.stringify(configMap?.name ?? '')}`, one(configMap?.items)),
      ...tell(`Secret ${JSON.stringify(secret?.secretName ?? '')}`, one(secret?.items)),
      ...tell('DownwardAPI', one(downwardAPI?.items)),
      ...empty.map(() => `volume ${quoted} (Projected) has no sources provided`),
      ...tell('Projected', (projected?.sources ?? []).flatMap(projectedPaths)),
    ];
  });
}

function projectedPaths(source: VolumeProjection): Placed[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
  const items = (list: readonly { readonly path: string }[], what: string) =>
    list.map(({ path }) => ({ path, source: what }));
  if (configMap?.items !== undefined)
    return items(configMap.items, `ConfigMap ${JSON.stringify(configMap.name ?? '')}`);
  if (secret?.items !== undefined) return items(secret.items, `Secret ${JSON.stringify(secret.name ?? '')}`);
  if (downwardAPI?.items !== undefined) return items(downwardAPI.items, 'DownwardAPI');
  if (serviceAccountToken !== undefined) return [{ path: serviceAccountToken.path, source: 'ServiceAccountToken' }];
  if (clusterTrustBundle !== undefined) {
    const { name, signerName = '', path } = clusterTrustBundle;
    return [{ path, source: `ClusterTrustBundle ${JSON.stringify(name ?? signerName)}` }];
  }
  const { certificateChainPath = '', keyPath = '', credentialBundlePath = '' } = podCertificate ?? {};
  return [
    { path: certificateChainPath, source: 'PodCertificate chain' },
    { path: keyPath, source: 'PodCertificate key' },
    { path: credentialBundlePath, source: 'PodCertificate credential bundle' },
  ].filter(({ path }) => path !== '');
}

/** The number of files of a volume that are compared with each other. */
const MAX_COMPARED = 500;

function trimmed(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end--;
  return path.slice(0, end);
}

function overlaps(placed: readonly Placed[]): string[] {
  const all = placed.slice(0, MAX_COMPARED).map(({ path = '', source }) => ({ path: trimmed(path), source }));
  return all.flatMap((one, i) => {
    if (one.path === '') return [];
    const over = (other: Placed) =>
      `${other.path}/`.startsWith(`${one.path}/`) || `${one.path}/`.startsWith(`${other.path}/`);
    return all
      .slice(0, i)
      .filter((other) => other.path !== '' && over(other))
      .map((other) => `${told(one)} with ${told(other)}`);
  });
}

function told({ path, source }: Placed): string {
  return source === '' ? JSON.stringify(path) : `${JSON.stringify(path)} (${source})`;
}
