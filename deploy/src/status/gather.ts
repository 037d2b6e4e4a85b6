import { X509Certificate } from 'node:crypto';
import { type Lease, LEASE_TTL_ANNOTATION, LEASES, type Node, NODES, PODS } from '@gantry/objects';
import { type Clock, errorMessage, systemClock, withDeadline } from '@gantry/base';
import type { HttpClient } from '@gantry/client';
import { adminCertificate, openApi } from '../cluster/api.ts';
import { openProject, type Project, type ServiceContainer } from '../cluster/compose.ts';
import { type EndpointStatus, failingMembers, isLeader } from '../cluster/etcd-members.ts';
import { withHealthNow } from '../cluster/health-checks.ts';
import type { CommandConfig } from '../config.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import { MEMBER_SERVICES } from '../settings/member-settings.ts';
import type { ApiFact, CertificateFact, EtcdMember, Facts, Leader, NodeFact, WaitingPod } from './facts.ts';

/** The facts of this checkout's cluster. */
export function gatherCheckoutFacts(config: CommandConfig, clusterId: string, shell: Shell): Promise<Facts> {
  return gatherFacts({
    clusterId,
    clock: systemClock,
    shell,
    project: openProject(config, clusterId, shell),
    openApi: () => openApi(config),
    adminCertificate: () => adminCertificate(config),
  });
}

interface Sources {
  readonly clusterId: string;
  readonly clock: Clock;
  readonly shell: Shell;
  readonly project: Pick<Project, 'containers'>;
  /** Opens the API; fails without a kubeconfig. */
  readonly openApi: () => HttpClient;
  /** PEM; undefined without a kubeconfig. */
  readonly adminCertificate: () => string | undefined;
}

const API_MS = 10_000;
const MAX_REASON = 100;
const DEFAULT_QUOTA_BYTES = 2 ** 31;

/** Queries Docker, etcd and the API in parallel. A source that does not respond is reported as such. */
export async function gatherFacts(sources: Sources): Promise<Facts> {
  const { shell, project } = sources;
  const own = sources.adminCertificate();
  const admin = own === undefined ? [] : [certificateFact('kubeconfig (the administrator)', own)];
  const containers = await project.containers();
  const [services, etcd, certificates] = await Promise.all([
    factsOfServices(sources, containers, () => true),
    askMembers(sources, containers),
    readCertificates(shell, containers),
  ]);
  return { ...services, etcd, certificates: [...certificates, ...admin] };
}

type LiveSources = Omit<Sources, 'adminCertificate'>;

/** One that the engine does not call healthy may be by now. Each check starts a process. */
const mayHaveRecovered = ({ health }: ServiceContainer) => health !== 'healthy';

/** What changes from second to second and costs little to ask: neither certificates nor members of etcd. */
export async function gatherServices(sources: LiveSources): Promise<Facts> {
  return await factsOfServices(sources, await sources.project.containers(), mayHaveRecovered);
}

/** The health checks of the containers that are `asked` are run. */
async function factsOfServices(
  { clusterId, clock, shell, openApi }: LiveSources,
  listed: readonly ServiceContainer[],
  isAsked: (container: ServiceContainer) => boolean,
): Promise<Facts> {
  const [containers, fromApi] = await Promise.all([withHealthNow(shell, listed, isAsked), askApi(clock, openApi)]);
  return { clusterId, now: clock.now(), containers, etcd: [], certificates: [], ...fromApi };
}

/**
 * The members of etcd among the containers. All are queried at once, from a temporary container with the apiserver's certificate: etcd shows
 * its status only to `root`, the apiserver's user. Members that do not respond are missing in the output.
 */
export async function askMembers(
  { shell, clock, clusterId }: Pick<Sources, 'shell' | 'clock' | 'clusterId'>,
  containers: readonly ServiceContainer[],
): Promise<readonly EtcdMember[]> {
  const members = containers.filter(({ service }) => service.startsWith('etcd-'));
  const running = members.filter(({ state }) => state === 'running');
  const [first] = running;
  const [failing, quotas, found] = await Promise.all([
    failingMembers(shell, clock, containers),
    quotasOf(shell, members),
    first === undefined ? [] : askEndpoints(shell, clusterId, first.image, running),
  ]);
  return members.map(({ service }, index) => {
    const quotaBytes = quotas[index] ?? DEFAULT_QUOTA_BYTES;
    const answer = found.find(({ Endpoint }) => Endpoint === endpointOf(service));
    const ended = failing.find(({ name }) => name === service);
    const state = ended === undefined ? 'unreachable' : 'restarting';
    const cause = ended === undefined ? {} : { cause: ended.cause };
    if (answer === undefined)
      return { name: service, state, ...cause, role: '', version: '', dbBytes: 0, quotaBytes, alarms: [] };
    const { Status: status } = answer;
    return {
      name: service,
      state: 'healthy',
      role: status.leader === 0 ? 'no leader' : isLeader(answer) ? 'leader' : 'follower',
      version: status.version,
      dbBytes: status.dbSize,
      quotaBytes,
      // `memberID:8211f1d0f64f3269 alarm:NOSPACE ` for each alarm of any member.
      alarms: [...new Set((status.errors ?? []).flatMap((text) => /alarm:(\w+)/.exec(text)?.[1] ?? []))],
    };
  });
}

/** The quota with which each member's container was started; undefined for etcd's default. */
async function quotasOf(shell: Shell, members: readonly ServiceContainer[]): Promise<readonly (number | undefined)[]> {
  if (members.length === 0) return [];
  const names = members.map(({ name }) => name);
  const text = await mustRun(shell, 'docker', ['inspect', '-f', '{{json .Config.Env}}', ...names]);
  return text
    .trim()
    .split('\n')
    .map((line) => Number(/"ETCD_QUOTA_BACKEND_BYTES=(\d+)"/.exec(line)?.[1] ?? 0) || undefined);
}

const endpointOf = (service: string) => `https://${service}:2379`;

async function askEndpoints(
  shell: Shell,
  clusterId: string,
  image: string,
  running: readonly ServiceContainer[],
): Promise<readonly EndpointStatus[]> {
  const container = ['run', '--rm', '--network', `${clusterId}-control`, '--entrypoint', 'etcdctl'];
  const tls = ['--cacert=/tls/ca.crt', '--cert=/tls/tls.crt', '--key=/tls/tls.key'];
  const endpoints = `--endpoints=${running.map(({ service }) => endpointOf(service)).join(',')}`;
  const { stdout } = await shell.run('docker', [
    ...container,
    '-v',
    `${clusterId}_pki-apiserver-etcd:/tls:ro`,
    image,
    ...tls,
    endpoints,
    '--command-timeout=2s',
    '--dial-timeout=2s',
    'endpoint',
    'status',
    '-w',
    'json',
  ]);
  return stdout.trim().startsWith('[') ? (JSON.parse(stdout) as EndpointStatus[]) : [];
}

interface FromApi {
  readonly api: ApiFact;
  readonly leaders: readonly Leader[];
  readonly nodes: readonly NodeFact[];
  readonly waitingPods: readonly WaitingPod[];
}

async function askApi(clock: Clock, openApi: () => HttpClient): Promise<FromApi> {
  using deadline = withDeadline(clock, new AbortController().signal, API_MS);
  try {
    using api = openApi();
    await api.raw({ method: 'GET', path: '/readyz' }, deadline);
    const version = JSON.parse(await api.raw({ method: 'GET', path: '/version' }, deadline)) as { gitVersion: string };
    const leases = await api.list(LEASES, { namespace: 'kube-system' }, deadline);
    const nodes = await api.list(NODES, {}, deadline);
    const facts = nodes.items.map(nodeFact);
    const lost = facts.filter(({ ready }) => ready === 'Unknown');
    const waiting = await Promise.all(lost.map(({ name }) => waitingPods(api, name, deadline)));
    return {
      waitingPods: waiting.flat(),
      api: { state: 'ready', version: version.gitVersion },
      leaders: leases.items.map((lease) => leaderOf(lease, clock)),
      nodes: facts,
    };
  } catch (error) {
    const why = deadline.aborted ? `no answer within ${API_MS / 1000} s` : whyNotReady(errorMessage(error));
    return { api: { state: 'not ready', why }, leaders: [], nodes: [], waitingPods: [] };
  }
}

/** One short line of the error of a request: the checks that fail, or the reason why there is no connection. */
export function whyNotReady(message: string): string {
  const failed = [...message.matchAll(/^\[-\](\S+) failed: (.*)$/gm)].map(([, check, why]) => `${check}: ${why}`);
  // What the store's client says behind that is about each attempt.
  const short = message.replace(/^no API server can be reached: /, '').replace(/: unavailable: .*/s, '');
  const [first = ''] = short.split('\n');
  const line = failed.length > 0 ? failed.join('; ') : first;
  return line.length > MAX_REASON ? `${line.slice(0, MAX_REASON)}…` : line;
}

/** As the controller-manager has marked them. */
async function waitingPods(api: HttpClient, node: string, signal: AbortSignal): Promise<readonly WaitingPod[]> {
  const { items } = await api.list(PODS, { fieldSelector: `spec.nodeName=${node}` }, signal);
  return items
    .filter(({ metadata, status }) => metadata.deletionTimestamp !== undefined && status?.reason === 'NodeLost')
    .map(({ metadata: { namespace = '', name = '' } }) => ({ node, pod: `${namespace}/${name}` }));
}

function leaderOf(lease: Lease, clock: Clock): Leader {
  const renewedAt = Date.parse(lease.spec?.renewTime ?? '');
  const lifeMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
  // The Lease only mirrors the leader and is written rarely, so allow twice its duration.
  const fresh = clock.now() - renewedAt <= Math.max(2 * lifeMs, 15_000);
  return {
    component: lease.metadata.name ?? '',
    holder: lease.spec?.holderIdentity ?? '',
    freshness: fresh ? 'current' : 'expired',
    ttlMs: Number(lease.metadata.annotations?.[LEASE_TTL_ANNOTATION] ?? 0) || undefined,
  };
}

function nodeFact(node: Node): NodeFact {
  const conditions = node.status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === 'Ready')?.status;
  return {
    name: node.metadata.name ?? '',
    ready: ready === 'True' || ready === 'False' ? ready : 'Unknown',
    pressures: conditions.flatMap(({ type, status }) => (type.endsWith('Pressure') && status === 'True' ? [type] : [])),
    version: node.status?.nodeInfo?.kubeletVersion ?? '',
    address: node.status?.addresses?.find((address) => address.type === 'InternalIP')?.address ?? '',
  };
}

/** Certificates that may need attention. Agents renew theirs daily. */
const CERTIFICATES: readonly { readonly of: string; readonly service: string; readonly file: string }[] = [
  ...MEMBER_SERVICES.map((service) => ({ of: service, service, file: '/etc/etcd/tls/tls.crt' })),
  { of: 'apiserver', service: 'apiserver', file: '/etc/gantry/tls/tls.crt' },
  { of: 'apiserver (towards etcd)', service: 'apiserver', file: '/etc/gantry/etcd/tls.crt' },
  { of: 'apiserver (towards agents)', service: 'apiserver', file: '/etc/gantry/agents/tls.crt' },
  { of: 'apiserver (front proxy)', service: 'apiserver', file: '/etc/gantry/front-proxy/tls.crt' },
  { of: 'scheduler', service: 'scheduler', file: '/etc/gantry/tls/tls.crt' },
  { of: 'proxy', service: 'proxy', file: '/etc/gantry/tls/tls.crt' },
  { of: 'scheduler (towards etcd)', service: 'scheduler', file: '/etc/gantry/etcd/tls.crt' },
  { of: 'controller-manager', service: 'controller-manager', file: '/etc/gantry/tls/tls.crt' },
  { of: 'controller-manager (towards etcd)', service: 'controller-manager', file: '/etc/gantry/etcd/tls.crt' },
  { of: 'dns', service: 'dns', file: '/etc/gantry/tls/tls.crt' },
  { of: 'ingress', service: 'ingress', file: '/etc/gantry/tls/tls.crt' },
  { of: 'load-balancer (the authority)', service: 'load-balancer', file: '/etc/gantry/tls/ca.crt' },
  { of: "agents' servers (the authority)", service: 'apiserver', file: '/etc/gantry/agents/ca.crt' },
  { of: 'etcd (the authority)', service: 'apiserver', file: '/etc/gantry/etcd/ca.crt' },
  { of: 'front proxy (the authority)', service: 'apiserver', file: '/etc/gantry/front-proxy/ca.crt' },
];

function certificateFact(of: string, pem: string): CertificateFact {
  const { validFrom, validTo } = new X509Certificate(pem);
  return { of, notBefore: Date.parse(validFrom), notAfter: Date.parse(validTo) };
}

async function readCertificates(
  shell: Shell,
  containers: readonly ServiceContainer[],
): Promise<readonly CertificateFact[]> {
  const found = await Promise.all(
    CERTIFICATES.map(async ({ of, service, file }) => {
      const container = containers.find((candidate) => candidate.service === service);
      if (container === undefined) return [];
      // A tar stream also works for stopped containers and images without a shell.
      const { code, stdout } = await shell.run('docker', ['cp', `${container.name}:${file}`, '-']);
      const pem = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/.exec(stdout)?.[0];
      if (code !== 0 || pem === undefined) return [];
      return [certificateFact(of, pem)];
    }),
  );
  return found.flat();
}
