import { restartingMember } from '../cluster/etcd-members.ts';
import type { EtcdMember, Facts } from './facts.ts';

const DAY_MS = 86_400_000;
/** Services and `up` renew a certificate, `up` an authority as well, when a third of its validity is left; with less, renewal failed. */
const RENEWAL_OVERDUE_PART = 1 / 4;
const OLDEST_ETCD = [3, 5, 30] as const;
/** The share of the quota from which on a member is reported as nearly full. */
const FULL_SHARE = 0.8;
const FREE =
  'the API servers free what old revisions take; if objects fill it, delete some: kubectl delete events -A --all';
const START = 'docker compose up -d --no-recreate';
/** What the Lease of a host custodian is called, with the engine's id behind. */
const CUSTODIAN = 'gantry-host-';
const LEADING = ['kube-scheduler', 'kube-controller-manager'] as const;

/** The problems, worst first, each with its consequence and what to do. Empty for a healthy cluster. */
export function findProblems(facts: Facts): readonly string[] {
  return [
    ...etcdProblems(facts),
    ...apiProblems(facts),
    ...leaderProblems(facts),
    ...nodeProblems(facts),
    ...containerProblems(facts),
    ...certificateProblems(facts),
  ];
}

function etcdProblems({ etcd, containers }: Facts): string[] {
  const healthy = etcd.filter((member) => member.state === 'healthy' && member.role !== 'no leader');
  const restarting = etcd.filter((member) => member.state === 'restarting');
  return [
    ...alarmProblems(etcd),
    ...quorumProblems(etcd, healthy, containers),
    ...restarting.map(({ name, cause = 'unknown' }) => restartingMember({ name, cause })),
    ...spaceProblems(healthy),
    ...healthy.flatMap(versionProblems),
  ];
}

function alarmProblems(etcd: readonly EtcdMember[]): string[] {
  const alarms = new Set(etcd.flatMap((member) => member.alarms));
  const problems: string[] = [];
  if (alarms.has('NOSPACE')) problems.push(`etcd is full (NOSPACE) and accepts only deletes: ${FREE}`);
  if (alarms.has('CORRUPT')) {
    problems.push('etcd reports a member with other data (CORRUPT): npm run snapshot -- restore FILE');
  }
  return problems;
}

function quorumProblems(
  etcd: readonly EtcdMember[],
  healthy: readonly EtcdMember[],
  containers: Facts['containers'],
): string[] {
  const down = etcd.filter((member) => !healthy.includes(member));
  if (down.length === 0) return [];
  const isHeld = healthy.length > etcd.length / 2;
  const what = `etcd ${healthy.length}/${etcd.length}, ${isHeld ? 'quorum holds' : 'no quorum: writes refused'}`;
  // The engine starts those that keep restarting. Each has a line of its own.
  const stay = down.filter(({ state }) => state !== 'restarting').map(({ name }) => name);
  return [stay.length === 0 ? what : `${what}: ${startAgain(stay, containers)}`];
}

function spaceProblems(members: readonly EtcdMember[]): string[] {
  const full = members.filter(({ dbBytes, quotaBytes }) => dbBytes >= quotaBytes * FULL_SHARE);
  const [first] = full;
  if (first === undefined) return [];
  const percent = Math.floor(Math.max(...full.map(({ dbBytes, quotaBytes }) => dbBytes / quotaBytes)) * 100);
  const names = full.map(({ name }) => name).join(', ');
  return [`etcd uses ${percent} % of its ${formatBytes(first.quotaBytes)} (${names}): ${FREE}`];
}

function versionProblems({ name, version }: EtcdMember): string[] {
  return isOlder(version)
    ? [`${name} runs etcd ${version}: older than 3.5.30, which loses events: remove the image, then npm run up`]
    : [];
}

function formatBytes(bytes: number): string {
  return bytes >= 2 ** 30 ? `${Number((bytes / 2 ** 30).toFixed(1))} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}

function isOlder(version: string): boolean {
  const parts = version.split('.').map(Number);
  for (const [i, wanted] of OLDEST_ETCD.entries()) {
    const found = parts[i] ?? 0;
    if (found !== wanted) return found < wanted;
  }
  return false;
}

/** What helps services that do not serve. `up` leaves paused containers as they are, and does nothing for one that runs. */
function startAgain(services: readonly string[], containers: Facts['containers']): string {
  const statesOf = (service: string) => containers.filter((one) => one.service === service).map(({ state }) => state);
  const paused = containers.filter(({ service, state }) => state === 'paused' && services.includes(service));
  const ended = services.filter((service) => {
    const states = statesOf(service);
    return states.length === 0 || states.some((state) => state !== 'paused' && state !== 'running');
  });
  const commands = [
    ...(paused.length === 0 ? [] : [`docker unpause ${paused.map(({ name }) => name).join(' ')}`]),
    ...(ended.length === 0 ? [] : [`${START} ${ended.join(' ')}`]),
  ];
  return commands.length > 0 ? commands.join('; ') : `docker compose logs ${services.join(' ')}`;
}

function apiProblems({ api, containers }: Facts): string[] {
  const all = containers.filter((container) => container.service === 'apiserver');
  const running = all.filter((container) => container.state === 'running');
  const help = startAgain(['apiserver'], containers);
  const stopped = all.length > running.length ? [`apiserver ${running.length}/${all.length} running: ${help}`] : [];
  if (api.state !== 'ready') return [`the API is not ready: ${api.why}: docker compose logs apiserver`, ...stopped];
  // The others answer: this one may be cut off from etcd.
  const unready = running
    .filter(({ health }) => health === 'unhealthy')
    .map(({ name }) => `${name} is not ready and gets no requests: docker logs --tail 20 ${name}`);
  return [...stopped, ...unready];
}

function leaderProblems({ api, leaders }: Facts): string[] {
  if (api.state !== 'ready') return [];
  const elected = LEADING.flatMap((component) => {
    const leader = leaders.find((candidate) => candidate.component === component);
    const look = `docker compose logs ${component.replace('kube-', '')}`;
    if (leader === undefined) return [`${component} has no leader: ${look}`];
    if (leader.freshness === 'current') return [];
    return [`${component}: the last leader, ${leader.holder}, no longer renews, and no other leads: ${look}`];
  });
  const custodians = leaders
    .filter(({ component, freshness }) => component.startsWith(CUSTODIAN) && freshness === 'expired')
    .map(({ holder }) => `the host of ${holder} has no custodian: docker compose ps -a agent`);
  return [...elected, ...custodians];
}

/** How many waiting pods of a node are named. */
const NAMED = 3;

function nodeProblems({ api, nodes, waitingPods }: Facts): string[] {
  if (api.state !== 'ready') return [];
  if (nodes.length === 0) return [`there is no node: pods stay Pending: ${START} --scale agent=2`];
  const lost = nodes.filter((node) => node.ready !== 'True');
  const pods = lost.length === nodes.length ? 'no other node could take its pods' : 'its pods move to other nodes';
  const moving = lost.flatMap(({ name, ready }) => {
    const waiting = waitingPods.filter(({ node }) => node === name).map(({ pod }) => pod);
    const named = waiting.slice(0, NAMED).join(', ');
    const more = waiting.length > NAMED ? ` and ${waiting.length - NAMED} more` : '';
    return [
      `node ${name} is not Ready (${ready}): ${pods}: docker compose ps -a agent`,
      ...(waiting.length === 0
        ? []
        : [
            `${named}${more}: waiting until the containers on ${name} are known to have stopped: start an agent of its host, or, if the host is off: kubectl taint nodes ${name} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`,
          ]),
    ];
  });
  const pressed = nodes.filter(({ pressures }) => pressures.length > 0);
  return [
    ...moving,
    ...pressed.map(({ name, pressures }) => {
      const help = pressures.includes('DiskPressure') ? 'docker system df' : `kubectl describe node ${name}`;
      return `node ${name} has ${pressures.join(', ')}: it takes no pods and evicts some: ${help}`;
    }),
  ];
}

function containerProblems({ containers }: Facts): string[] {
  const reportedElsewhere = ['pki', 'apiserver'];
  return containers
    .filter((container) => !reportedElsewhere.includes(container.service) && !container.service.startsWith('etcd'))
    .filter((container) => container.state !== 'running' || container.health === 'unhealthy')
    .map(({ name, service, state }) =>
      state === 'running'
        ? `${name} is unhealthy: docker compose logs ${service}`
        : `${name} is ${state}: ${state === 'paused' ? `docker unpause ${name}` : START}`,
    );
}

function certificateProblems({ certificates, now }: Facts): string[] {
  return certificates.flatMap(({ of, notBefore, notAfter }) => {
    const left = notAfter - now;
    if (left >= (notAfter - notBefore) * RENEWAL_OVERDUE_PART) return [];
    const when = left < 0 ? 'has run out' : `runs out in ${Math.floor(left / DAY_MS)} days`;
    return [`the certificate of ${of} ${when}: npm run up renews it`];
  });
}
