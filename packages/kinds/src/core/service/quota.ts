import type { QuotaUsage } from '@gantry/apimachinery';
import type { Service } from '@gantry/objects';
import type { Amounts } from '../../fields/amounts.ts';

const NAMES: ReadonlySet<string> = new Set(['services', 'services.nodeports', 'services.loadbalancers']);

/** Services count by number, by node ports and by load balancers. */
export const serviceQuota: QuotaUsage<Service> = { limits: (name) => NAMES.has(name), usage: serviceUsage };

function serviceUsage({ spec }: Service): Amounts {
  const usage: Record<string, string> = { services: '1', 'services.loadbalancers': '0', 'services.nodeports': '0' };
  const ports = spec?.ports ?? [];
  if (spec?.type === 'NodePort') usage['services.nodeports'] = String(ports.length);
  if (spec?.type !== 'LoadBalancer') return usage;
  usage['services.loadbalancers'] = '1';
  const own = ports.filter(({ nodePort }) => (nodePort ?? 0) !== 0).length;
  usage['services.nodeports'] = String(spec.allocateLoadBalancerNodePorts === false ? own : ports.length);
  return usage;
}
