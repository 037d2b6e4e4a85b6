import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import type { CommandConfig } from '../config.ts';
import type { Shell } from '../machine/shell.ts';

/** The result of a check. `warning` means that it works with a restriction. */
export interface Finding {
  readonly state: 'good' | 'warning' | 'bad';
  readonly found: string;
  readonly fix?: string;
}

/** One prerequisite. */
export interface Prerequisite {
  readonly name: string;
  check(): Promise<Finding>;
}

const MEMORY_BYTES = 3 * 2 ** 30;
const INSTALL = 'npm run up installs it on Debian (as root); elsewhere: https://docs.docker.com/engine/install/';

/** All prerequisites of a cluster on this machine, in the order of their use. */
export function prerequisites(config: CommandConfig, shell: Shell): readonly Prerequisite[] {
  const docker = (args: readonly string[]) =>
    shell.run('docker', args).catch(() => ({ code: 127, stdout: '', stderr: '' }));
  const program = (name: string, args: readonly string[], fix: string): Prerequisite => ({
    name,
    check: async () => {
      const { code, stdout } = await docker(args);
      return code === 0 ? good(stdout.trim()) : bad('missing', fix);
    },
  });
  return [
    { name: 'Node.js', check: async () => nodeVersion(process.versions.node) },
    program('Docker Engine', ['version', '-f', '{{.Server.Version}}'], INSTALL),
    program(
      'docker compose',
      ['compose', 'version', '--short'],
      'npm run up installs it on Debian; elsewhere: the docker-compose-plugin package',
    ),
    program(
      'docker buildx',
      ['buildx', 'version'],
      'npm run up installs it on Debian; elsewhere: the docker-buildx-plugin package',
    ),
    { name: 'memory and processors', check: async () => machineSize() },
    { name: 'disk of the engine', check: () => diskSpace(docker) },
    { name: 'br_netfilter', check: async () => bridgeFilter() },
    {
      name: 'images',
      check: async () => {
        const names = readFileSync(`${config.root}/deploy/images/list.txt`, 'utf8')
          .split('\n')
          .filter((line) => line !== '' && !line.startsWith('#'))
          .map((line) => line.split(' ')[0] ?? '');
        const results = await Promise.all(names.map((name) => docker(['image', 'inspect', '-f', '{{.Id}}', name])));
        const missing = names.filter((_, i) => results[i]?.code !== 0);
        return missing.length === 0
          ? good(`${names.length} there`)
          : { state: 'warning', found: `not yet there: ${missing.join(', ')}`, fix: 'npm run up pulls or makes them' };
      },
    },
    { name: 'what containers may do', check: () => capabilities(docker) },
    {
      name: 'etcd and kubectl for tests',
      check: async () =>
        existsSync(`${config.root}/.gantry/tools/etcd`)
          ? good('in the cache')
          : {
              state: 'warning',
              found: 'not in the cache',
              fix: 'deploy/bin/ensure-tools fetches them (npm test does)',
            },
    },
  ];
}

const good = (found: string): Finding => ({ state: 'good', found });
const bad = (found: string, fix: string): Finding => ({ state: 'bad', found, fix });

function nodeVersion(version: string): Finding {
  return Number(version.split('.')[0]) >= 24
    ? good(version)
    : bad(version, 'npm ci installs Node.js 24 for this checkout');
}

function machineSize(): Finding {
  const found = `${(totalmem() / 2 ** 30).toFixed(1)} GiB, ${availableParallelism()} processors`;
  if (totalmem() >= MEMORY_BYTES) return good(found);
  return { state: 'warning', found, fix: 'start the light cluster: GANTRY_OVERLAYS=light npm run up' };
}

/** With less than this nodes are short of disk: the agents' threshold `imagefs.available<15%|3Gi`, for two nodes. */
const DISK = { fraction: 0.15, bytes: 2 * 3 * 2 ** 30 };

async function diskSpace(docker: Docker): Promise<Finding> {
  const { code, stdout } = await docker(['info', '-f', '{{.DockerRootDir}}']);
  const root = stdout.trim();
  if (code !== 0 || root === '' || !existsSync(root)) return good('in a machine of its own');
  const { bsize, bavail, blocks } = statfsSync(root);
  const found = `${(bavail * bsize * 2 ** -30).toFixed(1)} of ${(blocks * bsize * 2 ** -30).toFixed(1)} GiB are free`;
  if (bavail * bsize >= Math.min(DISK.bytes, blocks * bsize * DISK.fraction)) return good(found);
  const fix =
    'free some, or set GANTRY_EVICTION_HARD: nodes with so little (DiskPressure) take no pods and evict those they have';
  return { state: 'warning', found, fix };
}

function bridgeFilter(): Finding {
  const file = '/proc/sys/net/bridge/bridge-nf-call-iptables';
  if (process.platform !== 'linux') return good('the engine runs in a machine of its own');
  const value = existsSync(file) ? readFileSync(file, 'utf8').trim() : 'not loaded';
  if (value === '1') return good('bridged traffic passes the packet filter');
  const fix =
    'sudo modprobe br_netfilter && sudo sysctl net.bridge.bridge-nf-call-iptables=1 (Services and NetworkPolicies between pods of one host need it)';
  return { state: 'warning', found: value, fix };
}

type Docker = (
  args: readonly string[],
) => Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;

/** Runs a temporary container with an agent's privileges. */
async function capabilities(docker: Docker): Promise<Finding> {
  const probe = [
    'run',
    '--rm',
    '--pid=host',
    '--cap-add=SYS_ADMIN',
    '--cap-add=SYS_PTRACE',
    '--cap-add=SYS_CHROOT',
    '--cap-add=NET_ADMIN',
    '--security-opt=apparmor:unconfined',
  ];
  const agent = await docker([...probe, 'busybox:latest', 'true']);
  if (agent.code !== 0)
    return bad(agent.stderr.trim().split('\n').at(-1) ?? '', 'this engine refuses the capabilities that agents need');
  const guaranteed = await docker(['run', '--rm', '--oom-score-adj=-997', 'busybox:latest', 'true']);
  if (guaranteed.code === 0) return good('all that agents ask for');
  return {
    state: 'warning',
    found: 'negative oom_score_adj is refused: Guaranteed pods run with 0',
    fix: 'run the engine with CAP_SYS_RESOURCE (not rootless, not nested)',
  };
}
