import { docker, type ServiceContainer } from './processes.ts';

/** Requests to the engine by method and path: how many, and their time in all. */
export type Calls = ReadonlyMap<string, { readonly count: number; readonly seconds: number }>;

const READ = "fetch('http://127.0.0.1:10255/metrics').then((r) => r.text()).then((t) => process.stdout.write(t))";

/** What an agent has asked its engine until now. */
export function engineCalls({ id }: ServiceContainer): Calls {
  return parseCalls(docker('exec', id, 'node', '-e', READ));
}

/** Reads the histogram of requests out of Prometheus' text form. */
export function parseCalls(text: string): Calls {
  const calls = new Map<string, { count: number; seconds: number }>();
  for (const [, what, name = '', value] of text.matchAll(
    /^gantry_engine_request_seconds_(sum|count)\{call="([^"]*)"\} (\S+)$/gm,
  )) {
    const call = calls.get(name) ?? { count: 0, seconds: 0 };
    calls.set(name, { ...call, [what === 'sum' ? 'seconds' : 'count']: Number(value) });
  }
  return calls;
}

/** Adds what several agents have asked between two looks. */
export function addCalls(sum: Calls, after: readonly Calls[], before: readonly Calls[]): Calls {
  const added = new Map(sum);
  const add = (calls: Calls, sign: 1 | -1) => {
    for (const [name, { count, seconds }] of calls) {
      const known = added.get(name) ?? { count: 0, seconds: 0 };
      added.set(name, { count: known.count + sign * count, seconds: known.seconds + sign * seconds });
    }
  };
  for (const calls of after) add(calls, 1);
  for (const calls of before) add(calls, -1);
  return added;
}

/** The calls a pod, the most expensive ones first. */
export function callTable(calls: Calls, pods: number): string[] {
  const rows = [...calls].filter(([, { count }]) => count > 0).sort(([, a], [, b]) => b.seconds - a.seconds);
  return [
    '| request to the engine | a pod | mean |',
    '| --- | --- | --- |',
    ...rows.map(
      ([name, { count, seconds }]) =>
        `| ${name} | ${(count / pods).toFixed(2)} | ${((seconds * 1000) / count).toFixed(0)} ms |`,
    ),
  ];
}
