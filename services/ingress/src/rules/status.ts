import { equalJson, type Ingress, type IngressLoadBalancerIngress } from '@gantry/objects';

/** Where clients on the host reach the proxy. */
export interface PublishedAddress {
  readonly address: string;
  readonly httpPort: number;
  readonly httpsPort: number;
}

/** The Ingress with the status that it should have, or undefined where it has it. */
export function planStatus(ingress: Ingress, { address, httpPort, httpsPort }: PublishedAddress): Ingress | undefined {
  const ports = [httpPort, httpsPort].map((port) => ({ port, protocol: 'TCP' }));
  const wanted: IngressLoadBalancerIngress[] = [{ ip: address, ports }];
  if (equalJson(ingress.status?.loadBalancer?.ingress, wanted)) return undefined;
  return { ...ingress, status: { ...ingress.status, loadBalancer: { ingress: wanted } } };
}
