import type { FilterPlugin } from '../../framework/plugin.ts';

const NONE: readonly string[] = [];

/** Allows nodes with room for one more pod and its requests. */
export const resourceFit: FilterPlugin = {
  name: 'NodeResourcesFit',
  sign: ({ wanted }) => JSON.stringify(wanted),
  filter: ({ wanted }, { allocatable, requested, pods }) => {
    let reasons: string[] | undefined;
    if (pods.size + 1 > (allocatable['pods'] ?? 0)) reasons = ['Too many pods'];
    for (const [name, amount] of wanted) {
      if (amount > (allocatable[name] ?? 0) - (requested[name] ?? 0)) (reasons ??= []).push(`Insufficient ${name}`);
    }
    return reasons ?? NONE;
  },
  curedByRoom: ({ wanted }, { allocatable }) => wanted.every(([name, amount]) => amount <= (allocatable[name] ?? 0)),
  helps: (change, pod) => {
    switch (change.kind) {
      case 'node-added':
      case 'pod-gone':
      case 'pod-shrunk':
        return true;
      case 'node-changed': {
        const { node, old } = change;
        return ['pods', ...Object.keys(pod.requests)].some(
          (name) => (node.allocatable[name] ?? 0) > (old.allocatable[name] ?? 0),
        );
      }
      case 'node-removed':
      case 'pod-placed':
      case 'pod-relabelled':
      case 'namespace-changed':
      case 'claim-changed':
      case 'volume-changed':
      case 'class-changed':
        return false;
    }
  },
};
