import { type KubeObject, StatusError } from '@gantry/api';
import type { Target } from '../../driver.ts';
import { groupResource } from '../target.ts';

/** Subresources that are streams, with the kind of their options (of proxies below) and which of those are read how. */
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
  proxy: { kind: '', fields: { path: 'text' } },
};

/** What passes any request on, by resource, with the kind of its options. */
const PROXIES: Readonly<Record<string, string>> = {
  nodes: 'NodeProxyOptions',
  pods: 'PodProxyOptions',
  services: 'ServiceProxyOptions',
};

/** Whether a request is for a stream to what the object stands for, which is no part of the object. */
export function isStream(target: Target): boolean {
  const { definition, subresource } = target;
  return (
    (definition.group === '' && definition.resource === 'pods' && Object.hasOwn(STREAMS, subresource)) ||
    isProxy(target)
  );
}

/** Whether a request is to be passed on, to a pod, to what is behind a service, or to a node's agent. */
export function isProxy({ definition, subresource }: Target): boolean {
  return definition.group === '' && subresource === 'proxy' && Object.hasOwn(PROXIES, definition.resource);
}

/** What a query says of a stream, as the object that admission judges. */
export function streamOptions(target: Target, query: URLSearchParams): KubeObject {
  const { definition, subresource } = target;
  const stream = STREAMS[subresource];
  const kind = (isProxy(target) ? PROXIES[definition.resource] : stream?.kind) ?? '';
  const entries = Object.entries(stream?.fields ?? {}).flatMap(([name, form]) => {
    const value = readOption(query.getAll(name), form);
    return value === undefined ? [] : [[name, value] as const];
  });
  const options = { kind, apiVersion: 'v1', ...Object.fromEntries(entries) };
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

/** What a request for a stream is told where there are none: 404 without the object, else that the method is not there. */
export function streamRefusal(target: Target, object: KubeObject | undefined): StatusError {
  const { definition, name, subresource } = target;
  if (object === undefined) return StatusError.notFound(groupResource(definition), name);
  const what = `${definition.resource}/${subresource}`;
  return new StatusError('MethodNotAllowed', `${what} is not served here: no stream exists`, { details: {} });
}
