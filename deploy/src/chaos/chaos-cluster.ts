import { join } from 'node:path';
import { systemClock, withDeadline } from '@gantry/base';
import { LEASES } from '@gantry/objects';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import { kubeconfigOf, openApi } from '../cluster/api.ts';
import type { OpenCluster } from '../cluster/open-cluster.ts';
import { mustRun } from '../machine/shell.ts';
import type { Facts } from '../status/facts.ts';
import { gatherLiveFacts } from '../status/gather.ts';
import { findProblems } from '../status/problems.ts';
import { ChaosEngine } from './engine.ts';
import type { UndoTools } from './undo.ts';

const LOOK_MS = 5_000;

/** The cluster as a campaign meets it. */
export interface ChaosCluster extends UndoTools {
  readonly opened: OpenCluster;
  readonly engine: ChaosEngine;
  /** A client of the API as users have it: it repeats no write. */
  connect(): HttpClient;
  look(): Promise<Facts>;
  /** What is wrong with the cluster; empty if it is healthy. */
  problems(): Promise<readonly string[]>;
}

export function openChaosCluster(opened: OpenCluster, image: string, namespace: string): ChaosCluster {
  const { clusterId, config, etcd, project, shell } = opened;
  const clock = systemClock;
  const connect = () => createHttpClient({ ...readKubeconfig(kubeconfigOf(config)), fieldManager: 'chaos' });
  const look = () => gatherLiveFacts({ clusterId, clock, shell, project, openApi: () => openApi(config) });
  const ctl = (args: readonly string[], members = etcd.layout.members) => etcd.ctl(members, args);
  const engine = new ChaosEngine({
    clusterId,
    image,
    shell,
    clock,
    namespace,
    etcd: { ctl, revision: async () => headerRevision(await ctl(['get', '/gantry/incarnation', '-w', 'json'])) },
    leaders: {
      holderOf: async (service) => {
        using api = connect();
        using deadline = withDeadline(clock, new AbortController().signal, LOOK_MS);
        const lease = await api.get(LEASES, { namespace: 'kube-system', name: `kube-${service}` }, deadline);
        return lease.spec?.holderIdentity ?? '';
      },
      etcdLeader: async () => (await look()).etcd.find(({ role }) => role === 'leader')?.name ?? '',
    },
  });
  return {
    opened,
    engine,
    connect,
    look,
    problems: async () => problemsOf(await look()),
    command: async (name, args) => void (await mustRun(shell, join(config.root, 'deploy/bin', name), args)),
    compose: async (args) => void (await project.compose(args)),
  };
}

/** Also that each running agent has a node: `findProblems` reads only the nodes that there are. */
function problemsOf(facts: Facts): readonly string[] {
  const agents = facts.containers.filter(({ service }) => service === 'agent').length;
  const missing = facts.api.state === 'ready' && facts.nodes.length < agents;
  return [...findProblems(facts), ...(missing ? [`${facts.nodes.length} nodes of ${agents} agents`] : [])];
}

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

const headerRevision = (text: string) => (JSON.parse(text) as { header: { revision: number } }).header.revision;
