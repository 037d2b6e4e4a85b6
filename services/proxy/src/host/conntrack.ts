import { type Flow, staleFlows, type UdpTargets } from '../rules/stale-flows.ts';
import { ProgramError, runProgram } from './run-program.ts';

/** Makes UDP clients of Services that are answered by no endpoint choose anew; returns their number. */
export async function forgetStaleFlows(targets: UdpTargets, signal: AbortSignal): Promise<number> {
  const listing = await runProgram('conntrack', ['-L', '-p', 'udp'], signal);
  const stale = staleFlows(listing, targets);
  for (const flow of stale) await forget(flow, signal);
  return stale.length;
}

async function forget({ source, destination, sourcePort, destinationPort }: Flow, signal: AbortSignal): Promise<void> {
  const ports = ['--sport', sourcePort, '--dport', destinationPort];
  try {
    await runProgram('conntrack', ['-D', '-p', 'udp', '-s', source, '-d', destination, ...ports], signal);
  } catch (error) {
    // It has ended by itself.
    if (!(error instanceof ProgramError) || signal.aborted) throw error;
  }
}
