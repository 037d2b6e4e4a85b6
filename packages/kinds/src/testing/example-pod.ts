import { cloneJson, type Pod } from '@gantry/objects';

/** A pod with a container that has requests and limits, and an ephemeral one. */
export function pod(): Pod {
  const sizes = { cpu: '100m', memory: '1Mi' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: {
      containers: [{ name: 'c', image: 'i', resources: { requests: { ...sizes }, limits: { ...sizes, cpu: '1' } } }],
      ephemeralContainers: [{ name: 'e', image: 'i' }],
    },
  };
}

/** The same pod after a change. */
export function changed(change: (object: Pod) => void): Pod {
  const object = cloneJson(pod());
  change(object);
  return object;
}
