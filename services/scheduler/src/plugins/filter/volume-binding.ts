import { claimsOfPod, equalJson } from '@gantry/objects';
import { VOLUME_BINDING, volumeReasons } from '../../framework/claimed-volumes.ts';
import type { FilterPlugin } from '../../framework/plugin.ts';

/**
 * Allows nodes from which the volumes of the pod's claims can be reached. For delayed claims, it allows nodes where a volume exists or can
 * be made.
 */
export const volumeBinding: FilterPlugin = {
  name: VOLUME_BINDING,
  sign: ({ volumes }) => (volumes === undefined ? '' : undefined),
  conflict: ({ volumes }) => (volumes?.kind === 'conflict' ? volumes.reason : undefined),
  filter: ({ volumes }, { node }) => (volumes === undefined ? [] : volumeReasons(volumes, node)),
  helps: (change, { pod }) => {
    switch (change.kind) {
      case 'claim-changed':
        return (
          change.claim.metadata.namespace === pod.metadata.namespace &&
          claimsOfPod(pod).includes(change.claim.metadata.name ?? '')
        );
      case 'volume-changed':
      case 'class-changed':
      case 'node-added':
        return true;
      case 'node-changed':
        return !equalJson(change.node.node.metadata.labels ?? {}, change.old.node.metadata.labels ?? {});
      case 'node-removed':
      case 'pod-placed':
      case 'pod-relabelled':
      case 'pod-gone':
      case 'pod-shrunk':
      case 'namespace-changed':
        return false;
    }
  },
};
