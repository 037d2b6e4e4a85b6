import { type KubeObject, StatusError } from '@gantry/api';
import type { Target } from '../../driver.ts';
import { groupResource } from '../target.ts';

/** Subresources that are streams, with the kind of their options and which of those are read how. */
const STREAMS: Readonly<
  Record<
    string,
    { readonly kind: string; readonly fields: Readonly<Record<string, 'flag' | 'text' | 'texts' | 'ports'>> }
  >
> = {
  attach: {
    kind: 'PodAttachOptions',
    fields: { stdin: 'flag', stdout: 'flag', stderr: 'flag', tty: 'flag', container: 'text' },
  },
  exec: {
    kind: 'PodExecOptions',
    fields: { stdin: 'flag', stdout: 'flag', stderr: 'flag', tty: 'flag', container: 'text', command: 'texts' },
  },
  portforward: { kind: 'PodPortForwardOptions', fields: { ports: 'ports' } },
  proxy: { kind: 'PodProxyOptions', fields: { path: 'text' } },
};

/** Whether a request is for a stream to a container, which is no part of the object. */
export function isStream({ definition, subresource }: Target): boolean {
  return definition.group === '' && definition.resource === 'pods' && Object.hasOwn(STREAMS, subresource);
}

/** What a query says of a stream, as the object that admission judges. */
export function streamOptions({ subresource }: Target, query: URLSearchParams): KubeObject {
  const stream = STREAMS[subresource];
  const entries = Object.entries(stream?.fields ?? {}).flatMap(([name, form]) => {
    const value = readOption(query.getAll(name), form);
    return value === undefined ? [] : [[name, value] as const];
  });
  const options = { kind: stream?.kind ?? '', apiVersion: 'v1', ...Object.fromEntries(entries) };
  // Options are objects without metadata.
  return options as unknown as KubeObject;
}

function readOption(values: readonly string[], form: 'flag' | 'text' | 'texts' | 'ports'): unknown {
  const [first] = values;
  if (first === undefined) return undefined;
  switch (form) {
    case 'flag':
      // As Kubernetes reads them: anything but these is yes.
      return first === '0' || first.toLowerCase() === 'false' ? undefined : true;
    case 'text':
      return first === '' ? undefined : first;
    case 'texts':
      return values;
    case 'ports':
      return values.flatMap((value) => value.split(',')).map(Number);
  }
}

/** What a request for a stream is told while there are none: 404 without the pod, else that the method is not there. */
export function streamRefusal(target: Target, pod: KubeObject | undefined): StatusError {
  const { definition, name, subresource } = target;
  if (pod === undefined) return StatusError.notFound(groupResource(definition), name);
  return new StatusError('MethodNotAllowed', `pods/${subresource} is not served yet: no stream to containers exists`, {
    details: {},
  });
}
