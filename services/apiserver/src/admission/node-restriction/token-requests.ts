import { type Pod, PODS, type ServiceAccountTokenProjection, type TokenRequest } from '@gantry/objects';
import { refuse } from '../check/refuse.ts';
import type { AgentRequest } from './agent-request.ts';

const DEFAULT_SECONDS = 3600;

/**
 * An agent may request tokens only for pods of its node: bound to the pod, for an audience in the pod's spec, and with a lifetime up to
 * that in the spec. Kubernetes limits the audience but not the lifetime. Messages are those of Kubernetes.
 */
export async function checkTokenRequest({ request, node, reader, access }: AgentRequest): Promise<void> {
  const { spec } = request.object as Partial<TokenRequest>;
  const bound = spec?.boundObjectRef;
  const audiences = spec?.audiences ?? [];
  const expirationSeconds = spec?.expirationSeconds ?? DEFAULT_SECONDS;
  const no = (why: string) => refuse(request, why);
  if (bound?.apiVersion !== 'v1' || bound.kind !== 'Pod' || (bound.name ?? '') === '') {
    throw no('node requested token not bound to a pod');
  }
  if ((bound.uid ?? '') === '') throw no('node requested token with a pod binding without a uid');
  const pod = await reader.find<Pod>(PODS, request.namespace, bound.name ?? '');
  // A request for a pod that does not exist fails with NotFound later.
  if (pod === undefined) return;
  if (pod.metadata.uid !== bound.uid) {
    throw no(
      `the UID in the bound object reference (${bound.uid ?? ''}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (pod.spec?.nodeName !== node) throw no('node requested token bound to a pod scheduled on a different node');
  if (audiences.length > 1) throw no('node may only request 0 or 1 audiences');
  const audience = audiences[0] ?? '';
  const lifetimes = tokensOf(pod, audience).map((source) => source.expirationSeconds ?? DEFAULT_SECONDS);
  if (lifetimes.length === 0) {
    const target = {
      definition: { group: '', resource: audience },
      namespace: request.namespace,
      name: request.name,
      subresource: '',
    };
    const asked = { verb: 'request-serviceaccounts-token-audience', target, object: undefined, fieldSelector: '' };
    if (audience !== '' && access.decide(request.user, asked).allowed) return;
    const who = `${request.user.name} is not authorized to request this audience`;
    throw no(`audience ${JSON.stringify(audience)} not found in pod spec volume, ${who}`);
  }
  const longest = Math.max(...lifetimes);
  if (expirationSeconds > longest) {
    throw no(`node requested token for ${expirationSeconds} seconds, the pod's spec asks for ${longest}`);
  }
}

function tokensOf({ spec }: Pod, audience: string): readonly ServiceAccountTokenProjection[] {
  return (spec?.volumes ?? [])
    .flatMap(({ projected }) => projected?.sources ?? [])
    .flatMap(({ serviceAccountToken: token }) => (token === undefined ? [] : [token]))
    .filter((token) => (token.audience ?? '') === audience);
}
