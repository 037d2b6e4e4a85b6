import { type FlowProtocol, type FlowTargets, type StaleFlows, staleFlows } from '../rules/stale-flows.ts';
import { ProgramError, runProgram } from './run-program.ts';

/** What is looked for, by its protocol: other connections of TCP end by themselves. */
const SELECTIONS: Readonly<Record<FlowProtocol, readonly string[]>> = {
  udp: ['-p', 'udp'],
  tcp: ['-p', 'tcp', '--state', 'CLOSE'],
};

/**
 * Makes clients of Services that are answered by no endpoint choose anew; returns the number of their connections. Runs one program for
 * each address of a Service and dead endpoint, however many clients there are: each run reads all connections of the host.
 */
export async function forgetStaleFlows(targets: FlowTargets, signal: AbortSignal): Promise<number> {
  let count = 0;
  for (const [protocol, selection] of Object.entries(SELECTIONS)) {
    if (![...targets.keys()].some((target) => target.startsWith(`${protocol} `))) continue;
    for (const flows of staleFlows(await runProgram('conntrack', ['-L', ...selection], signal), targets)) {
      await forget(flows, signal);
      count += flows.count;
    }
  }
  return count;
}

async function forget({ protocol, destination, port, answeredBy }: StaleFlows, signal: AbortSignal): Promise<void> {
  const filter = ['--orig-dst', destination, '--orig-port-dst', port, '--reply-src', answeredBy];
  try {
    await runProgram('conntrack', ['-D', ...SELECTIONS[protocol], ...filter], signal);
  } catch (error) {
    // They have ended by themselves.
    if (!(error instanceof ProgramError) || signal.aborted) throw error;
  }
}
