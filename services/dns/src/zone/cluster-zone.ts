import { ABSENT, type ClusterState, EMPTY, type Found, foundUnlessEmpty, oneRecord } from './cluster-state.ts';
import { clusterAddress, serviceRecords } from './service-records.ts';

/** The cluster's zone, with Kubernetes' default name. */
export const CLUSTER_DOMAIN = 'cluster.local';
/** The version of Kubernetes' DNS specification that the zone follows. */
const SPECIFICATION = '1.1.0';
/** The name of this server in its zones' SOA and NS records. */
export const NAME_SERVER = `ns.dns.${CLUSTER_DOMAIN}`;
/** The Service of the cluster's DNS. */
export const DNS_SERVICE = { namespace: 'kube-system', name: 'kube-dns' } as const;

const DASHED_ADDRESS = /^\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}$/;

/** Whether a name in lower case, without a final dot, is in the cluster's zone. */
export function isClusterName(name: string): boolean {
  return name === CLUSTER_DOMAIN || name.endsWith(`.${CLUSTER_DOMAIN}`);
}

/** Looks up a name of the cluster's zone: Kubernetes' DNS specification, and `a-b-c-d.NAMESPACE.pod` for existing pods. */
export function lookUpClusterName(state: ClusterState, name: string): Found {
  if (name === CLUSTER_DOMAIN) return foundUnlessEmpty(oneRecord({ type: 'NS', target: NAME_SERVER }));
  const labels = name.slice(0, -CLUSTER_DOMAIN.length - 1).split('.');
  // The topmost label is the last.
  const top = labels.pop() ?? '';
  switch (top) {
    case 'svc':
      return lookUpService(state, labels, name);
    case 'pod':
      return lookUpPod(state, labels);
    case 'dns':
      return lookUpServer(state, labels);
    case 'dns-version':
      return labels.length > 0 ? ABSENT : foundUnlessEmpty(oneRecord({ type: 'TXT', text: SPECIFICATION }));
    default:
      return ABSENT;
  }
}

function lookUpService(state: ClusterState, labels: readonly string[], name: string): Found {
  const below = [...labels];
  const namespace = below.pop();
  if (namespace === undefined) return EMPTY;
  if (!state.hasNamespace(namespace)) return ABSENT;
  const serviceName = below.pop();
  if (serviceName === undefined) return EMPTY;
  const service = state.service(namespace, serviceName);
  if (service === undefined) return ABSENT;
  const own = below.length === 0 ? name : name.slice(below.join('.').length + 1);
  return serviceRecords(state, { service, name: own }, below);
}

function lookUpPod(state: ClusterState, labels: readonly string[]): Found {
  const [dashed, namespace] = labels.length > 1 ? labels : [undefined, labels[0]];
  if (namespace === undefined) return EMPTY;
  if (labels.length > 2 || !state.hasNamespace(namespace)) return ABSENT;
  if (dashed === undefined) return EMPTY;
  const address = dashed.replaceAll('-', '.');
  if (!DASHED_ADDRESS.test(dashed) || !state.hasPod(namespace, address)) return ABSENT;
  return foundUnlessEmpty(oneRecord({ type: 'A', address }));
}

/** The name in the NS record has the address of the DNS Service. */
function lookUpServer(state: ClusterState, labels: readonly string[]): Found {
  if (labels.length === 0) return EMPTY;
  if (labels.length > 1 || labels[0] !== 'ns') return ABSENT;
  const service = state.service(DNS_SERVICE.namespace, DNS_SERVICE.name);
  const address = service === undefined ? undefined : clusterAddress(service);
  return foundUnlessEmpty(address === undefined ? undefined : oneRecord({ type: 'A', address }));
}
