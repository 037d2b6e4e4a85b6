import { expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';

const cluster = new Cluster();

/** What the engine says of a container; the fields that bound what its processes can do. */
interface Inspected {
  readonly Config: { readonly User: string; readonly Labels: Readonly<Record<string, string>> };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly CapAdd: readonly string[] | null;
    readonly CapDrop: readonly string[] | null;
    readonly SecurityOpt: readonly string[] | null;
    readonly Memory: number;
    readonly PidsLimit: number | null;
    readonly Privileged: boolean;
  };
}

/** Services that run as root, and the capabilities that they keep. All others have a user of their own and no capability. */
const ROOT: Readonly<Record<string, readonly string[]>> = {
  pki: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'],
  'pod-egress': ['NET_ADMIN'],
  agent: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'SYS_ADMIN', 'SYS_PTRACE'],
};
/** User ids that images commonly have. */
const COMMON_IDS = [0, 1, 33, 65, 70, 82, 99, 101, 472, 999, 65_532, 65_533, 65_534, 65_535];

async function inspectServices(): Promise<readonly (readonly [service: string, Inspected])[]> {
  const ids = (await cluster.containers()).map(({ id }) => id);
  const inspected = JSON.parse(await cluster.docker(['inspect', ...ids])) as Inspected[];
  return inspected.map((one) => [one.Config.Labels['com.docker.compose.service'] ?? '', one] as const);
}

test('no container of the control plane can write its image, gain rights, or take memory and processes without end', async () => {
  const services = await inspectServices();
  expect(new Set(services.map(([service]) => service))).toEqual(
    new Set([
      ...['pki', 'etcd-0', 'etcd-1', 'etcd-2', 'apiserver', 'load-balancer'],
      ...['scheduler', 'controller-manager', 'agent', 'pod-egress'],
    ]),
  );
  for (const [service, { HostConfig }] of services) {
    expect(HostConfig, service).toMatchObject({ ReadonlyRootfs: true, Privileged: false, CapDrop: ['ALL'] });
    expect(HostConfig.SecurityOpt, service).toContain('no-new-privileges:true');
    expect((HostConfig.CapAdd ?? []).map((name) => name.replace('CAP_', '')).toSorted(), service).toEqual(
      ROOT[service] ?? [],
    );
    expect(HostConfig.Memory, service).toBeGreaterThan(0);
    expect(HostConfig.PidsLimit, service).toBeGreaterThan(0);
  }
});

test('every service but the agent and the certificate job has a user, whose id no image commonly has', async () => {
  for (const [service, { Config }] of await inspectServices()) {
    const id = Number(Config.User.split(':')[0]);
    if (service in ROOT) expect(id, service).toBe(0);
    else expect(COMMON_IDS.includes(id) || (id >= 1000 && id < 60_000), `${service}: ${Config.User}`).toBe(false);
  }
});
