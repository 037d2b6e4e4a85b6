import type { Ingress } from '@gantry/objects';
import { selectedName } from './field-selection.ts';
import type { ObjectLookup } from './object-lookup.ts';
import type { Request } from './request.ts';

/** The user of the ingress controller, by the common name of its certificate. */
export const INGRESS_CONTROLLER = 'system:ingress-controller';

const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
/** What routes come from. */
const READS: ReadonlySet<string> = new Set([
  '/services',
  'discovery.k8s.io/endpointslices',
  'networking.k8s.io/ingressclasses',
  'networking.k8s.io/ingresses',
]);

/**
 * What the ingress controller may do: read what routes come from, and of Secrets those that an Ingress of their namespace names for TLS;
 * write the status of Ingresses, Events, and a class.
 */
export function mayIngress(request: Request, lookup: ObjectLookup): boolean {
  const { verb, target } = request;
  const kind = `${target.definition.group}/${target.definition.resource}`;
  if (target.subresource !== '') {
    return kind === 'networking.k8s.io/ingresses' && target.subresource === 'status' && isChange(verb);
  }
  if (kind === '/secrets') return mayReadSecret(request, lookup);
  if (kind === '/events') return verb === 'create' || isChange(verb);
  if (kind === 'networking.k8s.io/ingressclasses' && verb === 'create') return true;
  return READ_VERBS.has(verb) && READS.has(kind);
}

function isChange(verb: string): boolean {
  return verb === 'update' || verb === 'patch';
}

/** By name alone: a list or watch selects one. */
function mayReadSecret({ verb, target, fieldSelector }: Request, lookup: ObjectLookup): boolean {
  if (!READ_VERBS.has(verb) || target.namespace === '') return false;
  const name = target.name === '' ? selectedName(fieldSelector) : target.name;
  if (name === undefined || name === '') return false;
  const ingresses = [...lookup.ingressesIn(target.namespace)] as readonly Ingress[];
  return ingresses.some(({ spec }) => (spec?.tls ?? []).some(({ secretName }) => secretName === name));
}
