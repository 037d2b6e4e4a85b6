import type { FilterPlugin } from '../../framework/plugin.ts';

const REASON = ['node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'];

/** Allows no node while another pod uses a claim that only one pod may use. */
export const volumeRestrictions: FilterPlugin = {
  name: 'VolumeRestrictions',
  sign: ({ volumes }) => (volumes === undefined ? '' : undefined),
  filter: ({ volumes }) => (volumes?.kind === 'claims' && volumes.exclusive === 'in-use' ? REASON : []),
  helps: (change) => change.kind === 'pod-gone',
};
