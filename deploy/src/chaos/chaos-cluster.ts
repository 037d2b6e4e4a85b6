import { join } from 'node:path';
import { systemClock, withDeadline } from '@gantry/base';
import type { Run } from '@gantry/chaos-checker';
import { LEASES, MUTATING_WEBHOOK_CONFIGURATIONS } from '@gantry/objects';
import { createHttpClient, type HttpClient, ignoreNotFound, readKubeconfig } from '@gantry/client';
import { kubeconfigOf, openApi } from '../cluster/api.ts';
import { createEtcdTools, endFormerLeaders } from '../cluster/etcd-tools.ts';
import type { OpenCluster } from '../cluster/open-cluster.ts';
import { mustRun, withLimit } from '../machine/shell.ts';
import { lockRestore } from '../snapshot/restore-lock.ts';
import type { Facts } from '../status/facts.ts';
import { askMembers, gatherServices } from '../status/gather.ts';
import { findProblems } from '../status/problems.ts';
import { ChaosEngine, type EtcdAccess } from './engine.ts';
import { podImageOf } from './faults/images.ts';
import { chaosFolder } from './journal.ts';
import { requireUnchanged, rollTo } from './other-image.ts';
import type { UndoTools } from './undo.ts';

const LOOK_MS = 5_000;
const REMOVE_MS = 30_000;
/** For one command of the engine, on a busy machine. One that concerns a container which dies meanwhile may wait without end. */
const COMMAND_MS = 120_000;

/** The cluster as a campaign meets it. */
export interface ChaosCluster extends UndoTools {
  readonly opened: OpenCluster;
  readonly engine: ChaosEngine;
  /** Whose keys and values etcd has. */
  readonly storage: NonNullable<Run['storage']>;
  /** Of this cluster's campaigns. */
  readonly folder: string;
  /** The kubeconfig of users, for programs. */
  readonly kubeconfig: string;
  /** A client of the API as users have it: it repeats no write. */
  connect(): HttpClient;
  /** But for the members of etcd. */
  look(): Promise<Facts>;
  /** Throws CommandError if the checkout has changed since `up`. */
  requireUnchanged(): Promise<void>;
  /** The name of the image of the workloads' pods, which is that of the services. */
  podImage(): Promise<string>;
  /** What is wrong with the cluster; empty if it is healthy. */
  problems(): Promise<readonly string[]>;
}

export function openChaosCluster(opened: OpenCluster, image: string, namespace: string): ChaosCluster {
  const { clusterId, config, project } = opened;
  const shell = withLimit(opened.shell, COMMAND_MS);
  const etcd = createEtcdTools(shell, clusterId, opened.etcd.layout);
  const clock = systemClock;
  const kubeconfig = kubeconfigOf(config);
  const connect = () => createHttpClient({ ...readKubeconfig(kubeconfig), fieldManager: 'chaos' });
  const sources = { clusterId, clock, shell, project, openApi: () => openApi(config) };
  const look = () => gatherServices(sources);
  const ctl = (args: readonly string[], members = etcd.layout.members) => etcd.ctl(members, args);
  const engine = new ChaosEngine({
    clusterId,
    image,
    shell,
    clock,
    namespace,
    etcd: {
      ctl,
      revision: () => readRevision(ctl),
      members: etcd.layout.members,
      image: etcd.layout.image,
      reach: (member) => ({
        run: ['--network', `${clusterId}-control`, '-v', `${clusterId}_pki-apiserver-etcd:/tls:ro`],
        ctl: ['--endpoints', `https://${member}:2379`, ...TLS],
      }),
    },
    leaders: {
      holderOf: async (service) => {
        if (service === 'apiserver') return await storageOwner(ctl);
        using api = connect();
        using deadline = withDeadline(clock, new AbortController().signal, LOOK_MS);
        if (service === 'agent') return await custodian(api, clusterId, deadline);
        const lease = await api.get(LEASES, { namespace: 'kube-system', name: `kube-${service}` }, deadline);
        return lease.spec?.holderIdentity ?? '';
      },
      etcdLeader: async () => {
        const members = await askMembers(sources, await project.containers());
        return members.find(({ role }) => role === 'leader')?.name ?? '';
      },
    },
  });
  return {
    opened,
    engine,
    storage: 'gantry',
    folder: chaosFolder(config),
    kubeconfig,
    connect,
    look,
    podImage: async () => {
      const name = podImageOf(clusterId);
      await engine.docker(['tag', image, name]);
      return name;
    },
    // Campaigns look each second, and asking the members of etcd starts a container: they are asked when nothing else is wrong, and when
    // they may be why the API is not ready.
    problems: async () => {
      const services = await look();
      const found = problemsOf(services);
      if (found.length > 0 && services.api.state === 'ready') return found;
      return problemsOf({ ...services, etcd: await askMembers(sources, services.containers) });
    },
    // Ctrl-C in a terminal, which ends the campaign, leaves it alone: it comes to its end.
    command: async (name, args) =>
      void (await mustRun(opened.shell, join(config.root, 'deploy/bin', name), args, { group: 'own' })),
    removeWebhook: async (name) => {
      using api = connect();
      const key = { namespace: '', name };
      await ignoreNotFound(api.delete(MUTATING_WEBHOOK_CONFIGURATIONS, key, {}, AbortSignal.timeout(REMOVE_MS)));
    },
    requireUnchanged: () => requireUnchanged(opened, engine),
    rollTo: (image) => rollTo(opened, image, connect),
    compose: async (args) => void (await project.compose(args)),
    lockRestore: () => lockRestore(config),
    endFormerLeaders: () => endFormerLeaders(etcd),
  };
}

/** The election of the API server that compacts and defragments etcd. */
export const STORAGE_OWNER_KEY = '/gantry/elections/etcd-maintenance';

/** An address of the storage owner; '' without one. Each API server has a record in etcd, with its address, under the id that it is elected by. */
async function storageOwner(ctl: EtcdAccess['ctl']): Promise<string> {
  const id = (await ctl(['get', STORAGE_OWNER_KEY, '--print-value-only'])).trim();
  const record = id === '' ? '' : await ctl(['get', `/gantry/apiservers/${id}`, '--print-value-only']);
  return record === '' ? '' : (JSON.parse(record) as { readonly ip: string }).ip;
}

/** The container of the agent that is its host's custodian, of the first host; '' without one. Its node has the container's number. */
async function custodian(api: HttpClient, clusterId: string, signal: AbortSignal): Promise<string> {
  const { items } = await api.list(LEASES, { namespace: 'kube-system' }, signal);
  const holder = items.find(({ metadata }) => metadata.name?.startsWith('gantry-host-') === true)?.spec?.holderIdentity;
  return holder === undefined || holder === '' ? '' : `${clusterId}-agent${holder.slice(holder.lastIndexOf('-'))}`;
}

/** Also that each running agent has a node: `findProblems` reads only the nodes that there are. */
export function problemsOf(facts: Facts): readonly string[] {
  const agents = facts.containers.filter(({ service }) => service === 'agent');
  if (facts.api.state !== 'ready' || facts.nodes.length >= agents.length) return findProblems(facts);
  const numbers = new Set(facts.nodes.map(({ name }) => numberOf(name)));
  const without = agents.filter(({ name }) => !numbers.has(numberOf(name))).map(({ name }) => name);
  return [
    ...findProblems(facts),
    `${facts.nodes.length} nodes of ${agents.length} agents, none of ${without.join(', ')}`,
  ];
}

/** The node of the agent `<cluster>-agent-<number>` is `<host>-<number>`. */
const numberOf = (name: string) => name.slice(name.lastIndexOf('-') + 1);

/**
 * The image of the running services, by its id: a tag may be gone by now, as after `up` of another
 * checkout. Undefined if the cluster has no containers.
 */
export async function runningImage({ clusterId, shell }: OpenCluster): Promise<string | undefined> {
  const [service, project] = ['service=apiserver', `project=${clusterId}`].map(
    (text) => `label=com.docker.compose.${text}`,
  );
  const ids = await mustRun(shell, 'docker', ['ps', '-aq', '--filter', service ?? '', '--filter', project ?? '']);
  const [first] = ids.split('\n');
  if (first === undefined || first === '') return undefined;
  return (await mustRun(shell, 'docker', ['inspect', '-f', '{{.Image}}', first])).trim();
}

const TLS = ['--cacert', '/tls/ca.crt', '--cert', '/tls/tls.crt', '--key', '/tls/tls.key'];

/** The current revision. Every read returns it, also that of a key that does not exist. */
export async function readRevision(ctl: EtcdAccess['ctl']): Promise<number> {
  const read = JSON.parse(await ctl(['get', '/gantry/incarnation', '-w', 'json'])) as { header: { revision: number } };
  return read.header.revision;
}
