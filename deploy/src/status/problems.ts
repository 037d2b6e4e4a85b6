import type { Facts } from './facts.ts';

const DAY_MS = 86_400_000;
/** Services and `up` renew a certificate, `up` an authority as well, when a third of its validity is left; with less, renewal failed. */
const RENEWAL_OVERDUE_PART = 1 / 4;
const OLDEST_ETCD = [3, 5, 30] as const;
const LEADING = ['kube-scheduler', 'kube-controller-manager'] as const;

/** The problems, worst first, each with its consequence. Empty for a healthy cluster. */
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

function etcdProblems({ etcd }: Facts): string[] {
  const healthy = etcd.filter((member) => member.state === 'healthy');
  const count = `etcd ${healthy.length}/${etcd.length}`;
  const old = healthy.filter((member) => isOlder(member.version));
  const warnings = old.map(
    (member) => `${member.name} runs etcd ${member.version}: older than 3.5.30, which loses events`,
  );
  if (healthy.length === etcd.length) return warnings;
  const quorum = healthy.length > etcd.length / 2;
  return [quorum ? `${count}, quorum holds` : `${count}, no quorum: writes refused`, ...warnings];
}

function isOlder(version: string): boolean {
  const parts = version.split('.').map(Number);
  for (const [i, wanted] of OLDEST_ETCD.entries()) {
    const found = parts[i] ?? 0;
    if (found !== wanted) return found < wanted;
  }
  return false;
}

function apiProblems({ api, containers }: Facts): string[] {
  const all = containers.filter((container) => container.service === 'apiserver');
  const running = all.filter((container) => container.state === 'running');
  const stopped = all.length > running.length ? [`apiserver ${running.length}/${all.length} running`] : [];
  return api.state === 'ready' ? stopped : [`the API is not ready: ${api.why}`, ...stopped];
}

function leaderProblems({ api, leaders }: Facts): string[] {
  if (api.state !== 'ready') return [];
  return LEADING.flatMap((component) => {
    const leader = leaders.find((candidate) => candidate.component === component);
    if (leader === undefined) return [`${component} has no leader`];
    return leader.freshness === 'expired' ? [`${component}: the last leader, ${leader.holder}, no longer renews`] : [];
  });
}

function nodeProblems({ api, nodes }: Facts): string[] {
  if (api.state !== 'ready') return [];
  if (nodes.length === 0) return ['there is no node: pods stay Pending'];
  return nodes
    .filter((node) => node.ready !== 'True')
    .map((node) => `node ${node.name} is not Ready (${node.ready}): its pods move to other nodes`);
}

function containerProblems({ containers }: Facts): string[] {
  const reportedElsewhere = ['pki', 'apiserver'];
  return containers
    .filter((container) => !reportedElsewhere.includes(container.service) && !container.service.startsWith('etcd'))
    .filter((container) => container.state !== 'running' || container.health === 'unhealthy')
    .map((container) => `${container.name} is ${container.state === 'running' ? 'unhealthy' : container.state}`);
}

function certificateProblems({ certificates, now }: Facts): string[] {
  return certificates.flatMap(({ of, notBefore, notAfter }) => {
    const left = notAfter - now;
    if (left >= (notAfter - notBefore) * RENEWAL_OVERDUE_PART) return [];
    const when = left < 0 ? 'has run out' : `runs out in ${Math.floor(left / DAY_MS)} days`;
    return [`the certificate of ${of} ${when}: npm run up renews it`];
  });
}
