import { type FlowProtocol, type FlowTargets, type StaleFlows, staleFlows } from '../rules/stale-flows.ts';
import { ProgramError, runProgram } from './run-program.ts';

/** The arguments that select connections, by protocol. Other TCP connections end by themselves. */
const SELECTIONS: Readonly<Record<FlowProtocol, readonly string[]>> = {
  udp: ['-p', 'udp'],
  tcp: ['-p', 'tcp', '--state', 'CLOSE'],
};

/**
 * Makes the clients of Services whose connections no endpoint answers choose a new endpoint. Returns the number of these connections.
 * Runs one program per Service address and dead endpoint, regardless of the number of clients, because each run reads all connections of
 * the host.
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
    // The connections have ended by themselves.
    if (!(error instanceof ProgramError) || signal.aborted) throw error;
  }
}
