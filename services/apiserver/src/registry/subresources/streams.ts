import { type KubeObject, StatusError } from '@gantry/objects';
import type { Target } from '../contract/registry.ts';
import { groupResource } from '../contract/target.ts';

/** Subresources that are streams, with the kind of their options and the types of the parameters. Proxies have their kinds below. */
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

/** The resources with proxies, and the kinds of their options. */
const PROXIES: Readonly<Record<string, string>> = {
  nodes: 'NodeProxyOptions',
  pods: 'PodProxyOptions',
  services: 'ServiceProxyOptions',
};

/** Whether a request is for a stream: attach, exec, portforward or a proxy. */
export function isStream(target: Target): boolean {
  const { definition, subresource } = target;
  return (
    (definition.group === '' && definition.resource === 'pods' && Object.hasOwn(STREAMS, subresource)) ||
    isProxy(target)
  );
}

/** Whether a request is for the proxy of a pod, a service or a node. */
export function isProxy({ definition, subresource }: Target): boolean {
  return definition.group === '' && subresource === 'proxy' && Object.hasOwn(PROXIES, definition.resource);
}

/** Parses the options of a stream from the query. Admission checks the returned object. */
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
  return options as KubeObject;
}

function readOption(values: readonly string[], form: 'flag' | 'text' | 'texts' | 'ports'): unknown {
  const [first] = values;
  if (first === undefined) return undefined;
  switch (form) {
    case 'flag':
      // As in Kubernetes, every other value is true.
      return first === '0' || first.toLowerCase() === 'false' ? undefined : true;
    case 'text':
      return first === '' ? undefined : first;
    case 'texts':
      return values;
    case 'ports':
      return values.flatMap((value) => value.split(',')).map(Number);
  }
}

/** The error for a stream that is not served: NotFound if the object does not exist, else MethodNotAllowed. */
export function streamRefusal(target: Target, object: KubeObject | undefined): StatusError {
  const { definition, name, subresource } = target;
  if (object === undefined) return StatusError.notFound(groupResource(definition), name);
  const what = `${definition.resource}/${subresource}`;
  return new StatusError('MethodNotAllowed', `${what} is not served here: no stream exists`, { details: {} });
}
