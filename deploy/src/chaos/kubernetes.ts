import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { accessSync, constants, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { errorMessage, systemClock } from '@gantry/base';
import { createHttpClient, type HttpClient } from '@gantry/client';
import { type Lease, LEASES, type Node, NODES } from '@gantry/objects';
import type { OpenCluster } from '../cluster/open-cluster.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell, withLimit } from '../machine/shell.ts';
import { type ChaosCluster, readRevision } from './chaos-cluster.ts';
import { CHAOS_LABEL, ChaosEngine, type EtcdAccess, kubernetesProjectOf } from './engine.ts';
import { chaosFolder, type Journal } from './journal.ts';
import type { UndoStep } from './undo.ts';
import { untilRight } from './workloads/until-right.ts';

const PROGRAMS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
const STARTS_MS = 180_000;
const COMMAND_MS = 120_000;
const LOOK_MS = 5_000;
const ELECTED = ['kube-scheduler', 'kube-controller-manager'] as const;
const ETCD = 'etcd-0';
const ETCD_URL = `http://${ETCD}:2379`;
const CERTIFICATES = '/tmp/certificates';

/**
 * Kubernetes' control plane beside the cluster: one etcd, one API server, and two controller-managers and schedulers with their defaults,
 * in containers that the engine restarts. `programs` is a folder with its programs. It has one Node, which no kubelet keeps alive, so
 * the controller for lost nodes does not run. `apiServerFlags` are added to the API server's. Throws CommandError if it does not start.
 * Disposing removes it.
 */
export async function startKubernetes(
  opened: OpenCluster,
  programs: string,
  apiServerFlags: readonly string[] = [],
): Promise<ChaosCluster & AsyncDisposable> {
  const { clusterId, config, shell: unlimited } = opened;
  const shell = withLimit(unlimited, COMMAND_MS);
  const project = kubernetesProjectOf(clusterId);
  const folder = join(chaosFolder(config), 'kubernetes');
  requirePrograms(programs);
  const port = await freePort();
  const token = randomBytes(32).toString('hex');
  const compose = ['compose', '-f', join(folder, 'compose.json'), '-p', project, '--progress', 'plain'];
  const remove = async () => {
    await mustRun(shell, 'docker', [...compose, 'down', '-t', '0', '-v']);
    rmSync(folder, { recursive: true, force: true });
  };
  writeFiles(folder, token, composeFile({ opened, programs, folder, port, apiServerFlags }));
  try {
    await mustRun(shell, 'docker', [...compose, 'up', '-d']);
    const ca = await certificateOf(shell, project);
    const server = `https://localhost:${port}`;
    const connect = () => createHttpClient({ server, ca, token, fieldManager: 'chaos' });
    const kubeconfig = join(folder, 'user.json');
    const authority = { server, 'certificate-authority-data': ca.toString('base64') };
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigWith(authority, token)), { mode: 0o600 });
    const cluster = clusterOf({ opened, shell, project, folder, kubeconfig, connect });
    const wrong = await untilRight(systemClock, cluster.problems, { limitMs: STARTS_MS });
    if (wrong.length > 0) throw new CommandError(`Kubernetes does not start: ${wrong.join('; ')}`);
    await makeNode(connect);
    return { ...cluster, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** What was done to a system that is removed in the end, whatever is left of it. */
export class ForgottenSteps implements Pick<Journal, 'steps' | 'stepsOf' | 'begin' | 'add' | 'drop' | 'end'> {
  readonly #steps = new Map<string, readonly UndoStep[]>();

  get steps(): readonly UndoStep[] {
    return [...this.#steps.values()].flat();
  }

  begin(): void {}

  end(): void {
    this.#steps.clear();
  }

  add(fault: string, steps: readonly UndoStep[]): void {
    this.#steps.set(fault, [...this.stepsOf(fault), ...steps]);
  }

  stepsOf(fault: string): readonly UndoStep[] {
    return this.#steps.get(fault) ?? [];
  }

  drop(fault: string): void {
    this.#steps.delete(fault);
  }
}

/** Throws CommandError if a folder has not all programs of Kubernetes' control plane. */
export function requirePrograms(folder: string): void {
  for (const program of PROGRAMS) {
    const file = join(folder, program);
    try {
      accessSync(file, constants.X_OK);
    } catch {
      throw new CommandError(`${file} is no program`, 'the programs are part of a release of Kubernetes');
    }
  }
}

/** A port of this machine. The engine would choose another one at each restart of the container. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new CommandError('no port is free');
  return address.port;
}

interface Layout {
  readonly opened: OpenCluster;
  readonly programs: string;
  readonly folder: string;
  readonly port: number;
  readonly apiServerFlags: readonly string[];
}

function composeFile({ opened, programs, folder, port, apiServerFlags }: Layout) {
  const labels = { [CHAOS_LABEL]: opened.clusterId };
  const service = (command: readonly string[], replicas: number) => ({
    image: opened.image,
    user: '0',
    restart: 'always',
    labels,
    command,
    deploy: { replicas },
    volumes: [`${programs}:/kubernetes:ro`, `${folder}:/config:ro`],
  });
  const controller = (program: string, ...flags: string[]) =>
    service([`/kubernetes/${program}`, '--kubeconfig=/config/kubeconfig.json', ...flags], 2);
  return {
    networks: { default: { labels } },
    services: {
      [ETCD]: {
        image: opened.etcd.layout.image,
        user: '0',
        restart: 'always',
        labels,
        entrypoint: ['etcd'],
        command: [
          '--data-dir=/tmp/etcd',
          '--listen-client-urls=http://0.0.0.0:2379',
          `--advertise-client-urls=${ETCD_URL}`,
        ],
      },
      apiserver: {
        ...service(
          [
            '/kubernetes/kube-apiserver',
            `--etcd-servers=${ETCD_URL}`,
            `--cert-dir=${CERTIFICATES}`,
            '--token-auth-file=/config/tokens.csv',
            '--authorization-mode=RBAC',
            ...apiServerFlags,
            '--service-cluster-ip-range=10.96.0.0/16',
            '--service-account-issuer=https://kubernetes.default.svc',
            '--service-account-key-file=/config/accounts.pub',
            '--service-account-signing-key-file=/config/accounts.key',
          ],
          1,
        ),
        ports: [`127.0.0.1:${port}:6443`],
      },
      'controller-manager': controller(
        'kube-controller-manager',
        '--service-account-private-key-file=/config/accounts.key',
        '--controllers=*,-node-lifecycle-controller',
      ),
      scheduler: controller('kube-scheduler'),
    },
  };
}

/** Only this user reads the folder: each of its programs has all rights in the API. */
function writeFiles(folder: string, token: string, compose: unknown): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  // The API server makes its own certificate, which has no name of the container.
  const inside = { server: 'https://apiserver:6443', 'insecure-skip-tls-verify': true };
  write('compose.json', JSON.stringify(compose));
  write('kubeconfig.json', JSON.stringify(kubeconfigWith(inside, token)));
  write('tokens.csv', `${token},admin,admin,system:masters\n`);
  write('accounts.key', String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
  write('accounts.pub', String(publicKey.export({ type: 'spki', format: 'pem' })));
}

function kubeconfigWith(cluster: Readonly<Record<string, unknown>>, token: string) {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'k',
    contexts: [{ name: 'k', context: { cluster: 'k', user: 'k' } }],
    clusters: [{ name: 'k', cluster }],
    users: [{ name: 'k', user: { token } }],
  };
}

/** What the API server has made for itself, with its authority behind. */
async function certificateOf(shell: Shell, project: string): Promise<Buffer> {
  let pem = '';
  const wrong = await untilRight(
    systemClock,
    async () => {
      const look = ['exec', `${project}-apiserver-1`, 'cat', `${CERTIFICATES}/apiserver.crt`];
      const { code, stdout, stderr } = await shell.run('docker', look);
      pem = stdout;
      return code === 0 ? [] : [stderr.trim()];
    },
    { limitMs: STARTS_MS },
  );
  if (wrong.length > 0) throw new CommandError(`Kubernetes' API server has no certificate: ${wrong.join('; ')}`);
  return Buffer.from(pem);
}

interface Parts {
  readonly opened: OpenCluster;
  readonly shell: Shell;
  readonly project: string;
  readonly folder: string;
  readonly kubeconfig: string;
  readonly connect: () => HttpClient;
}

function clusterOf({ opened, shell, project, folder, kubeconfig, connect }: Parts): ChaosCluster {
  /** No fault that is compared asks for it. */
  const refuse = (what: string) => (): Promise<never> =>
    Promise.reject(new CommandError(`Kubernetes beside the cluster has no ${what}`));
  const leases = async (): Promise<readonly Lease[]> => {
    using api = connect();
    return (await api.list(LEASES, { namespace: 'kube-system' }, AbortSignal.timeout(LOOK_MS))).items;
  };
  const engine = new ChaosEngine({
    clusterId: project,
    image: opened.image,
    shell,
    clock: systemClock,
    namespace: '',
    etcd: etcdOf({ opened, shell, project }),
    leaders: {
      // `<name of the host>_<uuid>`; a container is called like the beginning of its id.
      holderOf: async (service) =>
        (await leases()).find(({ metadata }) => metadata.name === `kube-${service}`)?.spec?.holderIdentity ?? '',
      etcdLeader: () => Promise.resolve(ETCD),
    },
  });
  return {
    opened,
    engine,
    storage: 'kubernetes',
    folder,
    kubeconfig,
    connect,
    look: refuse('status'),
    // No workload of a comparison has pods.
    podImage: () => Promise.resolve(opened.image),
    problems: async () => {
      const services = await engine.services();
      const down = services.filter(({ state }) => state !== 'running').map(({ name, state }) => `${name} is ${state}`);
      if (down.length > 0) return down;
      try {
        const found = await leases();
        return ELECTED.filter((name) => !isHeld(found, name, services)).map((name) => `${name} has no leader`);
      } catch (error) {
        return [`the API does not respond: ${errorMessage(error)}`];
      }
    },
    command: refuse('command'),
    removeWebhook: refuse('webhook'),
    requireUnchanged: refuse('checkout'),
    rollTo: refuse('other image'),
    compose: refuse('services of Compose'),
    lockRestore: () => undefined,
    endFormerLeaders: refuse('elections in etcd'),
  };
}

function etcdOf({ opened, shell, project }: Pick<Parts, 'opened' | 'shell' | 'project'>): EtcdAccess {
  const { image } = opened.etcd.layout;
  const reach = { run: ['--network', `${project}_default`], ctl: ['--endpoints', ETCD_URL] };
  const ctl: EtcdAccess['ctl'] = (args) =>
    mustRun(shell, 'docker', ['run', '--rm', ...reach.run, '--entrypoint', 'etcdctl', image, ...reach.ctl, ...args]);
  return { members: [ETCD], image, reach: () => reach, ctl, revision: () => readRevision(ctl) };
}

function isHeld(leases: readonly Lease[], name: string, containers: readonly { readonly id: string }[]): boolean {
  const spec = leases.find(({ metadata }) => metadata.name === name)?.spec;
  const endsAt = Date.parse(spec?.renewTime ?? '') + (spec?.leaseDurationSeconds ?? 0) * 1000;
  const holder = spec?.holderIdentity ?? '';
  return endsAt > systemClock.now() && containers.some(({ id }) => holder.startsWith(id.slice(0, 12)));
}

/** A Node with room for the pods of trials. */
async function makeNode(connect: () => HttpClient): Promise<void> {
  using api = connect();
  const room = { cpu: '64', memory: '64Gi', pods: '1000' };
  const status: Node['status'] = { capacity: room, allocatable: room, conditions: [{ type: 'Ready', status: 'True' }] };
  const signal = AbortSignal.timeout(COMMAND_MS);
  await api.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' }, status }, signal);
  // Admission marks a new Node as one that is not ready.
  await api.patch(NODES, { namespace: '', name: 'node-1' }, { merge: { spec: { taints: [] } } }, signal);
}
