import { hostPortsClash } from '@gantry/objects';
import type { FilterPlugin } from '../../framework/plugin.ts';

const REASON = ["node(s) didn't have free ports for the requested pod ports"];

/** Allows nodes on which the pod's host ports are free. */
export const nodePorts: FilterPlugin = {
  name: 'NodePorts',
  sign: ({ hostPorts }) => JSON.stringify(hostPorts),
  filter: ({ hostPorts }, { pods }) => {
    if (hostPorts.length === 0) return [];
    for (const other of pods.values()) {
      if (other.hostPorts.some((taken) => hostPorts.some((wanted) => hostPortsClash(taken, wanted)))) return REASON;
    }
    return [];
  },
  curedByRoom: () => true,
  helps: (change, { hostPorts }) =>
    change.kind === 'node-added' ||
    (change.kind === 'pod-gone' &&
      change.pod.hostPorts.some((freed) => hostPorts.some((wanted) => hostPortsClash(freed, wanted)))),
};
