import type { MeasuredCluster } from '../cluster.ts';
import { measureDns } from '../dns.ts';
import { measureManyServices } from './many-services.ts';
import { measurePaths } from './paths.ts';
import { measureProgramming } from './programming.ts';

export interface NetworkOptions {
  /** Whose programming latency is measured. */
  readonly pods: number;
  readonly services: number;
  readonly print: (text: string) => void;
}

/** Services and DNS of a running cluster, each part printed as it ends. */
export async function measureNetwork(cluster: MeasuredCluster, options: NetworkOptions): Promise<void> {
  const { pods, services, print } = options;
  const parts: readonly (readonly [string, () => Promise<string[]>])[] = [
    ['a ClusterIP beside a direct connection', () => measurePaths(cluster)],
    ["our DNS beside Debian's dnsmasq", measureDns],
    ['programming latency', () => measureProgramming(cluster, pods)],
    ['many Services', () => measureManyServices(cluster, services)],
  ];
  for (const [name, measure] of parts) print(`\n### ${name}\n\n${(await measure()).join('\n')}`);
}
