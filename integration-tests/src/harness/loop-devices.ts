import type { Cluster } from './cluster.ts';

/** What losetup(8) and mount(8) need of a container. */
const IN_CONTAINER = [
  ...['run', '--rm', '--network=none', '--cap-add=SYS_ADMIN', '-v', '/dev:/dev', '-v', '/tmp:/tmp'],
  ...['--device-cgroup-rule=b *:* rwm', '--device-cgroup-rule=c 10:237 rwm', '--security-opt=apparmor=unconfined'],
  ...['busybox:1.36', 'sh', '-ec'],
];

/** A block device of the engine's host, of a file. It is gone when it is disposed of. */
export interface LoopDevice extends AsyncDisposable {
  readonly path: string;
  /** Runs a script on the host's files of /dev and /tmp. */
  readonly onHost: (script: string) => Promise<string>;
}

/** Makes one of `sizeMib` that begins with `text`. `folder` is one below /tmp that does not exist. */
export async function makeLoopDevice(
  cluster: Cluster,
  folder: string,
  { text = '', sizeMib = 16 }: { readonly text?: string; readonly sizeMib?: number } = {},
): Promise<LoopDevice> {
  const onHost = (script: string) => cluster.docker([...IN_CONTAINER, script]);
  const find = `losetup -a | grep -F ' ${folder}/file' | cut -d: -f1`;
  // Another may take the same free device first.
  const path = await onHost(
    `trap '${find.replaceAll("'", '"')} | xargs -r losetup -d; rm -rf ${folder}' EXIT
     mkdir -p ${folder}; truncate -s ${sizeMib}M ${folder}/file
     echo ${JSON.stringify(text)} | dd of=${folder}/file conv=notrunc 2>/dev/null
     for attempt in 1 2 3 4 5; do losetup -f ${folder}/file && break; done
     path=$(${find}); test -n "$path"; trap - EXIT; echo "$path"`,
  );
  const remove = async () => void (await onHost(`rm -r ${folder}; losetup -d ${path}`));
  return { path, onHost, [Symbol.asyncDispose]: remove };
}
