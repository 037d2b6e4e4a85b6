import type { Plan } from '@gantry/base';
import { type ConfigMap, equalJson, type Namespace } from '@gantry/objects';

export type Action =
  | { readonly kind: 'create'; readonly configMap: ConfigMap }
  | { readonly kind: 'update'; readonly configMap: ConfigMap };

/** The name of the ConfigMap that every namespace has. */
export const ROOT_CA = 'kube-root-ca.crt';
const DESCRIPTION = 'kubernetes.io/description';
const DESCRIPTION_TEXT =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal ' +
  'service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

/** Every non-terminating namespace gets a ConfigMap that contains only the cluster's CA certificate. */
export function planRootCa(
  namespace: Namespace | undefined,
  configMap: ConfigMap | undefined,
  caCertificate: string,
): Plan<Action> {
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return { actions: [] };
  const data = { 'ca.crt': caCertificate };
  if (configMap === undefined) {
    const metadata = {
      name: ROOT_CA,
      namespace: namespace.metadata.name ?? '',
      annotations: { [DESCRIPTION]: DESCRIPTION_TEXT },
    };
    return { actions: [{ kind: 'create', configMap: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } }] };
  }
  const { annotations } = configMap.metadata;
  // Another description may stay until the data must be written.
  if (equalJson(configMap.data, data) && (annotations?.[DESCRIPTION] ?? '') !== '') return { actions: [] };
  const metadata = { ...configMap.metadata, annotations: { ...annotations, [DESCRIPTION]: DESCRIPTION_TEXT } };
  return { actions: [{ kind: 'update', configMap: { ...configMap, metadata, data } }] };
}
