import { Signal } from '@gantry/base';
import { CommandError } from '../../machine/command-error.ts';
import type { ChaosContainer, ChaosEngine } from '../engine.ts';
import type { RunFolder } from './run-folder.ts';

const EVERY_MS = 10_000;
const SERVICES = ['apiserver', 'scheduler', 'controller-manager', 'agent'];
/** What the checker and the report use. */
const SELECTED =
  /^(?:leader_election_master_status|gantry_leader_lease_seconds|gantry_event_loop_longest_stall_seconds|gantry_event_loop_stalls_total|process_resident_memory_bytes|process_start_time_seconds)$/;
/** How long the response took is measured here: the start of the program takes longer, and is none of the service's. */
const READ = `
const since = performance.now();
fetch('http://127.0.0.1:10255/metrics').then((response) => response.text()).then((text) => {
  process.stdout.write('# took ' + Math.ceil(performance.now() - since) + '\\n' + text);
});`;

/** The recording of metrics. */
export interface MetricRecording {
  readonly ended: Promise<void>;
  /** The next samples are taken now: what a process believes right after a fault says most. */
  soon(): void;
}

/** Records selected metrics of the services every ten seconds until aborted. A container that does not answer is left out. */
export function recordMetrics(engine: ChaosEngine, folder: RunFolder, stop: AbortSignal): MetricRecording {
  const wake = new Signal();
  const ended = record(engine, folder, wake, stop);
  // The campaign awaits it at its end. An unhandled rejection before that would end the process without healing.
  ended.catch(() => undefined);
  return { ended, soon: () => wake.notify() };
}

async function record(engine: ChaosEngine, folder: RunFolder, wake: Signal, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const running = (await servicesOf(engine)).filter(
      ({ service, state }) => SERVICES.includes(service) && state === 'running',
    );
    for (const container of running) if (!stop.aborted) await scrape(engine, folder, container);
    await wake.wait(engine.options.clock, EVERY_MS, stop);
  }
}

/** None while the engine does not respond, as during its restart. */
async function servicesOf(engine: ChaosEngine): Promise<readonly ChaosContainer[]> {
  try {
    return await engine.services();
  } catch (error) {
    if (error instanceof CommandError) return [];
    throw error;
  }
}

async function scrape(engine: ChaosEngine, folder: RunFolder, { id, name, service }: ChaosContainer): Promise<void> {
  const sentMs = engine.options.clock.monotonicMs();
  const read = ['exec', id, 'timeout', '5', 'node', '-e', READ];
  const { code, stdout } = await engine.options.shell.run('docker', read);
  if (code !== 0) return;
  const [, tookMs] = /^# took (\d+)$/m.exec(stdout) ?? [];
  for (const sample of readSamples(stdout)) {
    folder.metrics(service, { sentMs, tookMs: Number(tookMs), instance: name, ...sample });
  }
}

/** Selected samples of Prometheus' text format. */
export function readSamples(
  text: string,
): readonly { readonly name: string; readonly labels: Record<string, string>; readonly value: number }[] {
  return text.split('\n').flatMap((line) => {
    const [, name = '', labels = '', value = ''] = /^([a-z_:]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
    if (!SELECTED.test(name) || !Number.isFinite(Number(value))) return [];
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', of = '']) => [key, of] as const);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}
