import { mustRun, type Shell } from '../machine/shell.ts';
import { CommandError } from '../machine/command-error.ts';
import { MEMBER_SERVICES } from '../settings/member-settings.ts';

/** The etcd of a cluster, as its Compose file describes it. */
export interface EtcdLayout {
  /** Services of the members: `etcd-0`. */
  readonly members: readonly string[];
  /** The image of etcd. */
  readonly image: string;
  /** The environment of each member's container. */
  readonly environments: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** A bind mount or a volume of a container: `SOURCE:TARGET[:ro]`. */
export type Mount = string;

/** Runs etcd's own programs in containers of its image, which has no shell. */
export interface EtcdTools {
  readonly layout: EtcdLayout;
  /** Asks these members, with the certificate of the API servers, which may read and write everything. */
  ctl(members: readonly string[], args: readonly string[], mounts?: readonly Mount[]): Promise<string>;
  /** Works on files; needs no member. */
  util(args: readonly string[], mounts: readonly Mount[]): Promise<string>;
}

const TIMEOUTS = ['--dial-timeout', '5s', '--command-timeout', '60s'];

/** `config` is the output of `docker compose config --format json`. */
export function readEtcdLayout(config: string): EtcdLayout {
  const { services } = JSON.parse(config) as {
    readonly services: Readonly<
      Record<
        string,
        {
          readonly image?: string;
          readonly deploy?: { readonly replicas?: number };
          readonly environment?: Readonly<Record<string, string>>;
        }
      >
    >;
  };
  const members = MEMBER_SERVICES.filter((name) => name in services && services[name]?.deploy?.replicas !== 0);
  const first = services[members[0] ?? ''];
  if (first?.image === undefined) throw new CommandError('docker compose config shows no etcd');
  const environments = Object.fromEntries(members.map((name) => [name, services[name]?.environment ?? {}]));
  return { members, image: first.image, environments };
}

/** What etcd calls `initial-cluster`: the names of members with their addresses for each other. */
export const initialCluster = (members: readonly string[]) =>
  members.map((name) => `${name}=https://${name}:2380`).join();

export function createEtcdTools(shell: Shell, clusterId: string, layout: EtcdLayout): EtcdTools {
  const run = (program: string, options: readonly string[], mounts: readonly Mount[], args: readonly string[]) => {
    const volumes = mounts.flatMap((mount) => ['-v', mount]);
    return mustRun(shell, 'docker', [
      'run',
      '--rm',
      ...options,
      ...volumes,
      '--entrypoint',
      program,
      layout.image,
      ...args,
    ]);
  };
  const tls = ['--cacert', '/tls/ca.crt', '--cert', '/tls/tls.crt', '--key', '/tls/tls.key'];
  return {
    layout,
    ctl: (members, args, mounts = []) => {
      const endpoints = ['--endpoints', members.map((member) => `https://${member}:2379`).join()];
      const volumes = [`${clusterId}_pki-apiserver-etcd:/tls:ro`, ...mounts];
      return run('etcdctl', ['--network', `${clusterId}-control`], volumes, [
        ...endpoints,
        ...TIMEOUTS,
        ...tls,
        ...args,
      ]);
    },
    util: (args, mounts) => run('etcdutl', ['--network', 'none'], mounts, args),
  };
}

/**
 * Ends the terms of all leaders of a former history, before any API server runs. The incarnation is removed first, because no process can be
 * elected without it. Then the keys of the leaders that were elected before are removed.
 */
export async function endFormerLeaders(etcd: EtcdTools): Promise<void> {
  await etcd.ctl(etcd.layout.members, ['del', '/gantry/incarnation']);
  await etcd.ctl(etcd.layout.members, ['del', '--prefix', '/gantry/elections/']);
}
