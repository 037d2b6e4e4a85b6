import { type KubeObject, StatusError } from '@gantry/api';
import type { Target } from '../../driver.ts';
import { groupResource } from '../target.ts';

const STREAMS: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward', 'proxy']);

/** Whether a request is for a stream to a container, which is no part of the object. */
export function isStream({ definition, subresource }: Target): boolean {
  return definition.group === '' && definition.resource === 'pods' && STREAMS.has(subresource);
}

/** What a request for a stream is told while there are none: 404 without the pod, else that the method is not there. */
export function streamRefusal(target: Target, pod: KubeObject | undefined): StatusError {
  const { definition, name, subresource } = target;
  if (pod === undefined) return StatusError.notFound(groupResource(definition), name);
  return new StatusError('MethodNotAllowed', `pods/${subresource} is not served yet: no stream to containers exists`, {
    details: {},
  });
}
