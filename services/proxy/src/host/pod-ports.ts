import { runProgram } from './run-program.ts';

/** `gp` and a pod's address, hexadecimal: services/agent/src/docker/pod-links.ts gives the names. */
const POD_PORT = /^\d+: (gp[0-9a-f]{8})[@:]/;

/**
 * Removes the ports of pods from a bridge that is to go. A port goes with its pod's network namespace, which outlives the pod's processes
 * where their connections still wait for answers: without this the host would have it for minutes.
 */
export async function removePodPorts(bridge: string, signal: AbortSignal): Promise<void> {
  const find = async () => podPortsOf(await runProgram('ip', ['-o', 'link', 'show'], signal), bridge);
  const ports = await find();
  if (ports.length === 0) return;
  try {
    const lines = ports.map((port) => `link delete ${port}\n`);
    await runProgram('ip', ['-force', '-batch', '-'], signal, lines.join(''));
  } catch (error) {
    // Some may have gone by themselves.
    if ((await find()).length > 0) throw error;
  }
}

/** Names of a bridge's ports for pods, in what `ip -o link show` prints. */
export function podPortsOf(listing: string, bridge: string): readonly string[] {
  return listing.split('\n').flatMap((line) => {
    const [, name] = POD_PORT.exec(line) ?? [];
    return name !== undefined && line.includes(` master ${bridge} `) ? [name] : [];
  });
}
