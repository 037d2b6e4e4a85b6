import type { Ingress, Service } from '@gantry/objects';
import { backendId } from '../rules/backend.ts';
import type { SecretContent } from '../rules/certificate.ts';
import type { HostOwners } from '../rules/hosts.ts';
import { type IngressPlan, planIngresses } from '../rules/plan.ts';
import { OURS, service } from './objects.ts';

const PORTS = [
  { name: 'http', port: 80 },
  { name: 'grpc', port: 81, appProtocol: 'kubernetes.io/h2c' },
  { name: 'dns', port: 53, protocol: 'UDP' },
];
const SERVICES: readonly Service[] = [
  service('a/web', PORTS),
  service('b/web', PORTS),
  service('a/outside', PORTS, { type: 'ExternalName', externalName: 'etcd-0' }),
];
const SECRETS: Readonly<Record<string, SecretContent>> = {
  'a/good': { kind: 'certificate', pem: 'A' },
  'b/good': { kind: 'certificate', pem: 'B' },
  'a/bad': { kind: 'unusable', why: 'it has no tls.key' },
  'a/unread': { kind: 'unknown' },
};

/** Returns the plan of these Ingresses. The namespaces `a` and `b` both have a Service `web`. */
export function plan(...ingresses: readonly Ingress[]): IngressPlan {
  return planAfter(new Map(), ...ingresses);
}

/** Returns the plan if namespaces already have hosts. */
export function planAfter(owners: HostOwners, ...ingresses: readonly Ingress[]): IngressPlan {
  return planIngresses({
    ingresses,
    owners,
    classes: [OURS, { ...OURS, metadata: { name: 'other' }, spec: { controller: 'example.org/other' } }],
    serviceOf: (namespace, name) =>
      SERVICES.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    secretOf: (namespace, name) => SECRETS[`${namespace}/${name}`] ?? { kind: 'missing' },
  });
}

/** Formats routes as lines, such as `exact a.example/ -> a/web/http/http`. */
export function routes({ exact, prefix }: IngressPlan): readonly string[] {
  const lines = (kind: string, map: IngressPlan['exact']) =>
    [...map].map(([key, to]) => `${kind} ${key} -> ${to === undefined ? 'nothing' : backendId(to)}`);
  return [...lines('exact', exact), ...lines('prefix', prefix)];
}

/** Formats refusals as lines, such as `a/web: HostTaken: spec...`. */
export function refusals(of: IngressPlan): readonly string[] {
  return of.refusals.map(
    ({ ingress: { metadata }, refusal: { reason, message } }) => `${metadata.uid}: ${reason}: ${message}`,
  );
}
