import { type StaleFlows, staleFlows, type UdpTargets } from '../rules/stale-flows.ts';
import { ProgramError, runProgram } from './run-program.ts';

/**
 * Makes UDP clients of Services that are answered by no endpoint choose anew; returns their number. Runs one program for each address
 * of a Service and dead endpoint, however many clients there are: each run reads all connections of the host.
 */
export async function forgetStaleFlows(targets: UdpTargets, signal: AbortSignal): Promise<number> {
  const listing = await runProgram('conntrack', ['-L', '-p', 'udp'], signal);
  const stale = staleFlows(listing, targets);
  for (const flows of stale) await forget(flows, signal);
  return stale.reduce((sum, { count }) => sum + count, 0);
}

async function forget({ destination, port, answeredBy }: StaleFlows, signal: AbortSignal): Promise<void> {
  const filter = ['--orig-dst', destination, '--orig-port-dst', port, '--reply-src', answeredBy];
  try {
    await runProgram('conntrack', ['-D', '-p', 'udp', ...filter], signal);
  } catch (error) {
    // They have ended by themselves.
    if (!(error instanceof ProgramError) || signal.aborted) throw error;
  }
}
