import type { Cluster } from './cluster.ts';

/** What a process says of the turns of its event loop since its start. */
export interface Stalls {
  readonly container: string;
  /** Turns that took more than the limit of processor time. */
  readonly overLimit: number;
  /** The longest turn of the last minute or two, in seconds: by the clock, and of the processor. */
  readonly longest: { readonly wall: number; readonly cpu: number };
}

const READ = "fetch('http://127.0.0.1:10255/metrics').then((r) => r.text()).then((t) => process.stdout.write(t))";

/** A limit for a turn, in seconds of processor time: a bound of the metric's buckets. */
export type TurnLimit = 0.1 | 0.25;

/** Reads the metrics of every container of a service, inside it. */
export async function stallsOf(cluster: Cluster, service: string, limit: TurnLimit): Promise<readonly Stalls[]> {
  const containers = await cluster.containers(service);
  return await Promise.all(
    containers
      .filter(({ state }) => state === 'running')
      .map(async ({ id, name }) => {
        const text = await cluster.docker(['exec', id, 'node', '-e', READ]);
        const turns = 'gantry_event_loop_stall_cpu_seconds';
        const longest = (time: string) => valueOf(text, `gantry_event_loop_longest_stall_seconds{time="${time}"}`);
        return {
          container: name,
          overLimit: valueOf(text, `${turns}_count`) - valueOf(text, `${turns}_bucket{le="${limit}"}`),
          longest: { wall: longest('wall'), cpu: longest('cpu') },
        };
      }),
  );
}

/** Throws where the metric is missing: a server that does not count its stalls proves nothing. */
function valueOf(text: string, series: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  if (line === undefined) throw new Error(`no metric ${series}`);
  return Number(line.slice(series.length + 1));
}
