import { PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();

/** What the engine says of a container; the fields that bound what its processes can do. */
interface Inspected {
  readonly Config: { readonly User: string; readonly Labels: Readonly<Record<string, string>> };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly CapAdd: readonly string[] | null;
    readonly CapDrop: readonly string[] | null;
    readonly DeviceCgroupRules: readonly string[] | null;
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
  proxy: ['NET_ADMIN', 'NET_RAW'],
  agent: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_ADMIN', 'SYS_ADMIN', 'SYS_CHROOT', 'SYS_PTRACE'],
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
      ...['scheduler', 'controller-manager', 'dns', 'agent', 'ingress', 'console', 'pod-egress', 'proxy'],
    ]),
  );
  for (const [service, { HostConfig }] of services) {
    expect(HostConfig, service).toMatchObject({ ReadonlyRootfs: true, Privileged: false, CapDrop: ['ALL'] });
    expect(HostConfig.DeviceCgroupRules ?? [], service).toEqual(service === 'agent' ? ['b *:* rw'] : []);
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

test("the agent ends a probe's command that takes too long, also of a user that is not root", async () => {
  await using namespace = await cluster.namespace();
  const readinessProbe = { exec: { command: ['sleep', '98765'] }, timeoutSeconds: 1, periodSeconds: 1 };
  const main = { name: 'main', image: 'busybox:1.36', command: ['sleep', '3600'], readinessProbe };
  await cluster.create(PODS, namespace.name, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'slow' },
    spec: { containers: [main], securityContext: { runAsUser: 12_345 }, terminationGracePeriodSeconds: 0 },
  });
  const counts = ['get', 'events', '-n', namespace.name, '--field-selector', 'reason=Unhealthy'];
  await eventually('four probes have timed out', 120_000, async () => {
    const text = await cluster.mustKubectl([...counts, '-o', 'jsonpath={.items[*].count}']);
    return text.split(' ').reduce((sum, count) => sum + Number(count), 0) >= 4;
  });
  const [id] = await cluster.podContainers([
    'label=io.kubernetes.pod.name=slow',
    'label=io.kubernetes.container.name=main',
  ]);
  // At most the one of the probe that runs at this moment; the one before it may be about to end.
  await eventually('the others have ended', 60_000, async () => {
    const processes = await cluster.docker(['top', id ?? '', '-o', 'pid,args']);
    return processes.split('\n').filter((line) => line.includes('98765')).length <= 1;
  });
});
