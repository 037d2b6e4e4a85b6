import { type Controller, declare, type KubeObject, POD_DISRUPTION_BUDGETS, SERVICES } from '@gantry/operator';
import { CLUSTER_LABEL, ETCD_CLUSTERS, PORTS } from './etcd-cluster.ts';

/** The names of members, the address for clients, and the limit for evictions. */
export const etcdServices: Controller = declare({
  name: 'etcd-services',
  for: ETCD_CLUSTERS,
  owns: [SERVICES, POD_DISRUPTION_BUDGETS],
  desire: ({ object, owned }) => {
    const { name = '' } = object.metadata;
    const client = `${name}-client`;
    const labels = { [CLUSTER_LABEL]: name };
    const isClientThere = owned(SERVICES).some(({ metadata }) => metadata.name === client);
    // Before all members are there, the loss of one could lose what clients have written.
    const isServing = isClientThere || (object.status?.readyMembers ?? 0) >= object.spec.size;
    const service = (of: string, spec: object): KubeObject & { spec: object } => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: of, labels },
      spec: { selector: labels, ...spec },
    });
    const clientPort = { name: 'client', port: PORTS.client };
    // Members that are not ready yet need names too.
    const ofMembers = {
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      ports: [clientPort, { name: 'peer', port: PORTS.peer }],
    };
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name, labels },
      spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
    };
    return {
      objects: [service(name, ofMembers), budget, ...(isServing ? [service(client, { ports: [clientPort] })] : [])],
    };
  },
});
