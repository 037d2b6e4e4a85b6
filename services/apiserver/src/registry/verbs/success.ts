import type { KubeObject } from '@gantry/objects';

/** The response to a POST that creates no object. */
export function success(): KubeObject {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } as KubeObject;
}
