import type { ChaosContainer, Target } from '../engine.ts';
import type { FaultKind, Scene } from '../fault.ts';

/** Whose packets to whom. Services in the host's network are left out: its rules are everybody's. */
const LINKS: Readonly<Record<Target, readonly Target[]>> = {
  'scheduler/leader': ['etcd', 'apiserver'],
  'controller-manager/leader': ['etcd', 'apiserver'],
  'apiserver/1': ['etcd', 'etcd/leader', 'etcd/1', 'load-balancer'],
  'apiserver/2': ['etcd', 'etcd/leader', 'etcd/2', 'load-balancer'],
  // The storage owner.
  'apiserver/leader': ['etcd'],
  'agent/1': ['apiserver', 'apiserver/1'],
  'agent/2': ['apiserver', 'apiserver/2'],
  // The host's custodian.
  'agent/leader': ['apiserver'],
  'dns/1': ['apiserver'],
  'ingress/1': ['apiserver'],
  'etcd/leader': ['etcd/others'],
  'etcd/1': ['etcd'],
};
const DURATION_MS = [5_000, 20_000] as const;

const link = {
  targets: Object.keys(LINKS),
  peersOf: (target: Target) => LINKS[target] ?? [],
  durationMs: DURATION_MS,
} as const;

/** Faults of the network between two components, made by the kernel in the network namespace of the first one's container. */
export const NETWORK_FAULTS: readonly FaultKind[] = [
  {
    ...link,
    kind: 'cut',
    what: 'No packet passes between two components.',
    weight: 3,
    strike: (scene) => filterBetween(scene, { out: 'drop', in: 'drop' }),
  },
  {
    ...link,
    kind: 'cut-requests',
    what: 'Packets to the other component are lost; its own arrive.',
    weight: 2,
    strike: (scene) => filterBetween(scene, { out: 'drop' }),
  },
  {
    ...link,
    kind: 'cut-responses',
    what: 'Packets from the other component are lost; those to it arrive.',
    weight: 2,
    strike: (scene) => filterBetween(scene, { in: 'drop' }),
  },
  {
    kind: 'black-hole',
    what: 'A component neither sends nor receives a packet, and its peers get no error.',
    targets: link.targets,
    durationMs: DURATION_MS,
    weight: 2,
    strike: blackHole,
  },
  {
    ...link,
    kind: 'loss',
    what: 'Three of ten packets between two components are lost.',
    weight: 2,
    strike: (scene) => {
      const rule = 'numgen random mod 10 < 3 drop';
      return filterBetween(scene, { out: rule, in: rule });
    },
  },
  {
    ...link,
    kind: 'reset',
    what: 'Connections between two components are reset as soon as they send.',
    weight: 2,
    // Resets for what arrives too: a watch only receives.
    strike: (scene) => {
      const rule = 'meta l4proto tcp reject with tcp reset';
      return filterBetween(scene, { out: rule, in: rule });
    },
  },
  {
    ...link,
    kind: 'bandwidth',
    what: 'At most 20 kB a second pass from one component to the other; the rest is lost.',
    weight: 1,
    strike: (scene) => filterBetween(scene, { out: 'limit rate over 20 kbytes/second burst 20 kbytes drop' }),
  },
  {
    kind: 'apiserver-behind',
    what: 'At most 4 kB a second pass from etcd to an API server: it answers from an old state, or waits.',
    targets: ['apiserver/1', 'apiserver/2'],
    peersOf: () => ['etcd'],
    durationMs: DURATION_MS,
    weight: 1,
    strike: (scene) => filterBetween(scene, { in: 'limit rate over 4 kbytes/second burst 8 kbytes drop' }),
  },
  {
    kind: 'slow-link',
    what: 'All that a component sends waits for a link of 400 kbit/s, for up to 3 s (tc tbf).',
    targets: link.targets,
    durationMs: DURATION_MS,
    weight: 1,
    strike: (scene) => shape(scene, ['tbf', 'rate', '400kbit', 'burst', '16kb', 'latency', '3s']),
  },
];

/** Those for which the kernel needs `sch_netem`, which some kernels of virtual machines lack. */
export const NETEM_FAULTS: readonly FaultKind[] = [
  {
    kind: 'delay',
    what: 'All that a component sends is late by 300 ms, give or take 200 ms (tc netem).',
    targets: link.targets,
    durationMs: DURATION_MS,
    weight: 2,
    strike: (scene) => shape(scene, ['netem', 'delay', '300ms', '200ms']),
  },
  {
    kind: 'reorder',
    what: 'A quarter of the packets that a component sends overtake the others, and some arrive twice (tc netem).',
    targets: link.targets,
    durationMs: DURATION_MS,
    weight: 1,
    strike: (scene) => shape(scene, ['netem', 'delay', '50ms', 'reorder', '75%', '50%', 'duplicate', '5%']),
  },
];

/** Rules for packets to and from the peers. */
interface Rules {
  readonly out?: string;
  readonly in?: string;
}

const tableOf = ({ fault }: Scene) => `gantry_chaos_${fault.id}`;

async function filterBetween(scene: Scene, rules: Rules): Promise<string> {
  const { engine, fault, random } = scene;
  const target = await engine.one(fault.target, random);
  const peers = (await engine.resolve(fault.peer ?? '', random)).filter(({ id }) => id !== target.id);
  const addresses = sharedAddresses(target, peers);
  await applyRuleset(scene, target, rulesetBetween(tableOf(scene), addresses, rules));
  return `${target.name} and ${peers.map(({ name }) => name).join(', ')}`;
}

/** Addresses of the peers on networks of the target. */
export function sharedAddresses(target: ChaosContainer, peers: readonly ChaosContainer[]): readonly string[] {
  const networks = new Set(Object.keys(target.addresses));
  return peers.flatMap(({ addresses }) =>
    Object.entries(addresses).flatMap(([network, address]) =>
      networks.has(network) && address !== '' ? [address] : [],
    ),
  );
}

/** Rules of nftables for packets between this namespace and other addresses. */
export function rulesetBetween(table: string, addresses: readonly string[], rules: Rules): string {
  const set = `{ ${addresses.join(', ')} }`;
  const chain = (name: string, hook: string, match: string, verdict: string | undefined) =>
    verdict === undefined
      ? []
      : [`chain ${name} { type filter hook ${hook} priority 0; ip ${match} ${set} ${verdict}; }`];
  return [
    `table inet ${table} {`,
    ...chain('sent', 'output', 'daddr', rules.out),
    ...chain('received', 'input', 'saddr', rules.in),
    '}',
  ].join('\n');
}

async function blackHole(scene: Scene): Promise<string> {
  const target = await scene.engine.one(scene.fault.target, scene.random);
  const chains = ['input iifname', 'output oifname'].map((text) => {
    const [hook = '', side = ''] = text.split(' ');
    return `chain ${hook}s { type filter hook ${hook} priority 0; ${side} != "lo" drop; }`;
  });
  await applyRuleset(scene, target, [`table inet ${tableOf(scene)} {`, ...chains, '}'].join('\n'));
  return `${target.name} is alone`;
}

async function applyRuleset(scene: Scene, target: ChaosContainer, ruleset: string): Promise<void> {
  await scene.undoLater([{ undo: 'drop-table', container: target.id, table: tableOf(scene) }]);
  await scene.engine.inNetwork(target, ['nft', ruleset]);
}

/** Puts a queueing discipline on all interfaces of a container. */
async function shape({ engine, fault, random, undoLater }: Scene, discipline: readonly string[]): Promise<string> {
  const target = await engine.one(fault.target, random);
  await undoLater([{ undo: 'drop-qdisc', container: target.id }]);
  const script = `for dev in $(ls /sys/class/net); do
    if [ $dev != lo ]; then tc qdisc replace dev $dev root ${discipline.join(' ')} || exit 1; fi
  done`;
  await engine.inNetwork(target, ['sh', '-c', script]);
  return `${target.name}: ${discipline.join(' ')}`;
}
