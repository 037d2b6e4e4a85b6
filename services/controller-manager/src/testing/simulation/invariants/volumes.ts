import {
  claimsOfPod,
  LOCAL_PATH,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PODS,
  PROVISIONED_BY,
} from '@gantry/objects';
import { type Change, isOf, type World } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

type Report = (text: string) => void;

/**
 * A claim keeps its volume, and a volume keeps its claim, as long as both exist. A claim is not removed while a running pod uses it, and a
 * volume is not removed while its claim exists.
 */
export const volumeInvariant: Invariant = {
  name: 'I20: claims and volumes keep each other',
  watch: (world, report) =>
    world.subscribe((change) => {
      if (isOf(change, PERSISTENT_VOLUME_CLAIMS)) takeClaim(world, change, report);
      else if (isOf(change, PERSISTENT_VOLUMES)) takeVolume(world, change, report);
    }),
};

function takeClaim(world: World, change: Change, report: Report): void {
  const [claim, old]: readonly (PersistentVolumeClaim | undefined)[] = [change.object, change.old];
  if (claim === undefined) {
    const { namespace = '', name = '' } = old?.metadata ?? {};
    const user = world
      .all(PODS)
      .find((pod) => pod.metadata.namespace === namespace && isRunning(pod) && claimsOfPod(pod).includes(name));
    if (user !== undefined) report(`${describeChange(change)}: gone, and pod ${user.metadata.name} uses it`);
    return;
  }
  const { volumeName = '' } = claim.spec ?? {};
  const before = old?.metadata.uid === claim.metadata.uid ? (old?.spec?.volumeName ?? '') : '';
  if (before !== '' && volumeName !== before)
    report(`${describeChange(change)}: volume ${before} became ${volumeName}`);
  const other = world
    .all(PERSISTENT_VOLUME_CLAIMS)
    .find(({ metadata, spec }) => metadata.uid !== claim.metadata.uid && spec?.volumeName === volumeName);
  if (volumeName !== '' && other !== undefined)
    report(`${describeChange(change)}: ${volumeName} is the volume of ${other.metadata.name}, too`);
}

function takeVolume(world: World, change: Change, report: Report): void {
  const [volume, old]: readonly (PersistentVolume | undefined)[] = [change.object, change.old];
  const before = old?.spec?.claimRef;
  if (before?.uid === undefined) return;
  const now = volume?.spec?.claimRef?.uid;
  if (volume !== undefined && now !== undefined && now !== before.uid)
    report(`${describeChange(change)}: claim ${before.uid} became ${now}`);
  const claim = world.get(PERSISTENT_VOLUME_CLAIMS, before.namespace ?? '', before.name ?? '');
  if (volume === undefined && claim?.metadata.uid === before.uid)
    report(`${describeChange(change)}: gone, and its claim ${before.name} is there`);
}

function isRunning({ status, spec }: { status?: { phase?: string }; spec?: { nodeName?: string } }): boolean {
  return status?.phase === 'Running' && (spec?.nodeName ?? '') !== '';
}

/** I21: at rest, a bound claim and its volume refer to each other, and a volume that is deleted with its claim leaves nothing behind. */
export function* volumeViolations(world: World): Iterable<string> {
  for (const { metadata, spec, status } of world.all(PERSISTENT_VOLUME_CLAIMS)) {
    const volume = world.get(PERSISTENT_VOLUMES, '', spec?.volumeName ?? '');
    const isBound = status?.phase === 'Bound';
    if (isBound && (volume?.spec?.claimRef?.uid !== metadata.uid || volume?.status?.phase !== 'Bound'))
      yield `I21: claim ${metadata.namespace}/${metadata.name} is bound to ${spec?.volumeName}, which is not its volume`;
  }
  for (const { metadata, spec, status } of world.all(PERSISTENT_VOLUMES)) {
    const { namespace = '', name = '', uid } = spec?.claimRef ?? {};
    const claim = world.get(PERSISTENT_VOLUME_CLAIMS, namespace, name);
    if (status?.phase === 'Bound' && (claim?.metadata.uid !== uid || claim?.status?.phase !== 'Bound'))
      yield `I21: volume ${metadata.name} is bound to ${namespace}/${name}, which is not its claim`;
    if (status?.phase === 'Released' && metadata.annotations?.[PROVISIONED_BY] === LOCAL_PATH)
      yield `I21: volume ${metadata.name} outlives its claim ${namespace}/${name}`;
  }
}
