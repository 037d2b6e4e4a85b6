import type { FaultKind } from '../fault.ts';
import { CLUSTER_FAULTS } from './cluster.ts';
import { ETCD_FAULTS } from './etcd.ts';
import { HOST_FAULTS } from './host.ts';
import { IMAGE_FAULTS } from './images.ts';
import { NETWORK_FAULTS } from './network.ts';
import { POD_FAULTS } from './pod.ts';
import { PROCESS_FAULTS } from './process.ts';
import { WEBHOOK_FAULTS } from './webhooks.ts';

/** All kinds of faults that every kernel can make. */
export const FAULT_KINDS: readonly FaultKind[] = [
  ...PROCESS_FAULTS,
  ...NETWORK_FAULTS,
  ...ETCD_FAULTS,
  ...POD_FAULTS,
  ...CLUSTER_FAULTS,
  ...HOST_FAULTS,
  ...IMAGE_FAULTS,
  ...WEBHOOK_FAULTS,
];
