import { setTimeout as delay } from 'node:timers/promises';
import type { MeasuredCluster } from './cluster.ts';
import { cpuMs, pssKib, serviceContainers, sumOf } from './processes.ts';

const IDLE_MS = 30_000;

/** Memory (PSS) and CPU share of every service in an idle cluster. */
export async function measureFootprint(cluster: MeasuredCluster): Promise<string[]> {
  const containers = serviceContainers(cluster.project);
  const before = new Map(containers.map((c) => [c.id, sumOf(c.pids.map(cpuMs))]));
  await delay(IDLE_MS);
  const byService = new Map<string, { mib: number; percent: number; count: number }>();
  for (const container of containers) {
    const service = container.service.replace(/-\d+$/, '');
    const row = byService.get(service) ?? { mib: 0, percent: 0, count: 0 };
    row.mib += sumOf(container.pids.map(pssKib)) / 1024;
    row.percent += ((sumOf(container.pids.map(cpuMs)) - (before.get(container.id) ?? 0)) / IDLE_MS) * 100;
    row.count++;
    byService.set(service, row);
  }
  const rows = [...byService].map(
    ([service, row]) => `| ${service} x ${row.count} | ${row.mib.toFixed(0)} MiB | ${row.percent.toFixed(2)} % |`,
  );
  const own = [...byService].filter(([service]) => service !== 'etcd').map(([, row]) => row);
  const total = `| all without etcd | ${sumOf(own.map((r) => r.mib)).toFixed(0)} MiB | ${sumOf(own.map((r) => r.percent)).toFixed(2)} % |`;
  return ['| service | PSS | of one core, idle |', '| --- | --- | --- |', ...rows, total];
}
