import { carryOut, type ControllerSpec, watchSelf, type WatchSpec } from '@gantry/controller-runtime';
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, type PersistentVolume } from '@gantry/objects';
import { growsClaim, planExpansionReport } from './plan.ts';

/** Queues the claim of a newly bound volume: the claim's event may have come first. */
const watchBindings: WatchSpec<PersistentVolume> = {
  resource: PERSISTENT_VOLUMES,
  keys: (volume, old) => {
    const { uid, namespace = '', name = '' } = volume?.spec?.claimRef ?? {};
    return uid === undefined || uid === old?.spec?.claimRef?.uid ? [] : [{ namespace, name }];
  },
};

/** Reports claims that wait for their volume to be expanded. The provisioner's controller expands it. */
export const volumeExpansionController: ControllerSpec = {
  name: 'volume-expansion',
  eventSource: 'volume_expand',
  watches: [watchSelf(PERSISTENT_VOLUME_CLAIMS, growsClaim), watchBindings],
  reconcile: async (key, { cache, clock, events }) => {
    const claim = cache.get(PERSISTENT_VOLUME_CLAIMS, key);
    if (claim === undefined) return {};
    const volume = cache.get(PERSISTENT_VOLUMES, { namespace: '', name: claim.spec?.volumeName ?? '' });
    const report = async ({ reason, message }: { readonly reason: string; readonly message: string }) =>
      events.event(claim, 'Normal', reason, message);
    return await carryOut(planExpansionReport(claim, volume), report, clock);
  },
};
