import { formatTime } from '@gantry/base';
import { formatColumns } from '../cluster/api.ts';
import type { Facts } from './facts.ts';
import { findProblems } from './problems.ts';

/** Formats `status` as text: members, leaders, nodes, versions, certificates and problems. */
export function renderStatus(facts: Facts): string {
  const problems = findProblems(facts);
  const sections = [
    `cluster ${facts.clusterId}: ${problems.length === 0 ? 'all is well' : problems.length === 1 ? '1 problem' : `${problems.length} problems`}`,
    table(['SERVICE', 'CONTAINER', 'STATE', 'HEALTH', 'IMAGE'], containerRows(facts)),
    table(
      ['ETCD', 'STATE', 'ROLE', 'VERSION', 'SIZE', 'OF QUOTA'],
      facts.etcd.map((member) => [
        member.name,
        member.state,
        member.role,
        member.version,
        `${Math.round(member.dbBytes / 1024)} KiB`,
        `${Math.floor((member.dbBytes / member.quotaBytes) * 100)} %`,
      ]),
    ),
    `api: ${facts.api.state === 'ready' ? `ready, ${facts.api.version}` : `not ready: ${facts.api.why}`}`,
    table(
      ['LEASE', 'HOLDER', 'STATE', 'LIVES'],
      facts.leaders.map((leader) => [
        leader.component,
        leader.holder,
        leader.freshness,
        leader.ttlMs === undefined ? '' : `${leader.ttlMs / 1000} s`,
      ]),
    ),
    table(
      ['NODE', 'READY', 'VERSION', 'ADDRESS'],
      facts.nodes.map((node) => [node.name, node.ready, node.version, node.address]),
    ),
    table(
      ['CERTIFICATE', 'RUNS OUT'],
      facts.certificates.map(({ of, notAfter }) => [of, formatTime(notAfter)]),
    ),
    ...(problems.length === 0 ? [] : [`what is wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`]),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

function containerRows({ containers }: Facts): string[][] {
  return containers
    .filter((container) => container.service !== 'pki')
    .map(({ service, name, state, health, image }) => [service, name, state, health, image]);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : formatColumns([head, ...rows]);
}
