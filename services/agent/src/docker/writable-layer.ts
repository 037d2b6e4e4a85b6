import { PROCESS_ENDED, readIfThere } from '../files/if-there.ts';

/** The parts of a container's inspection that lead to its writable layer. */
export interface InspectedLayer {
  readonly GraphDriver?: { readonly Data?: Readonly<Record<string, string>> | null } | null;
  readonly State?: { readonly Pid?: number };
}

/**
 * The host's folder with the files that a container has written: the upper folder of its overlay. The engine names it, but for images
 * that containerd stores; there it is the one that the running container's process has mounted. Undefined where neither is known.
 */
export async function layerOf({ GraphDriver: driver, State: state }: InspectedLayer): Promise<string | undefined> {
  const named = driver?.Data?.['UpperDir'];
  if (named !== undefined) return named;
  const { Pid: pid = 0 } = state ?? {};
  if (pid === 0) return undefined;
  return upperFolder((await readIfThere(`/proc/${pid}/mountinfo`, PROCESS_ENDED)) ?? '');
}

/** The upper folder of the overlay that is the root in a text of proc_pid_mountinfo(5). Undefined for a root of another kind. */
export function upperFolder(mountInfo: string): string | undefined {
  for (const line of mountInfo.split('\n')) {
    const [mount = '', rest = ''] = line.split(' - ');
    const [kind, , options = ''] = rest.split(' ');
    if (mount.split(' ')[4] !== '/' || kind !== 'overlay') continue;
    const upper = options.split(',').find((option) => option.startsWith('upperdir='));
    const path = upper?.slice('upperdir='.length);
    // A relative one is of a folder that only the engine knows.
    return path?.startsWith('/') === true ? path : undefined;
  }
  return undefined;
}
