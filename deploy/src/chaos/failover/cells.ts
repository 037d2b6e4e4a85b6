import type { Target } from '../engine.ts';
import type { FaultKind } from '../fault.ts';

/** What a client waits for after a fault. `acts.ts` says how each is seen. */
export type ActName =
  | 'binding'
  | 'replicaset'
  | 'writes'
  | 'election'
  | 'holder'
  | 'renewal'
  | 'pod-starts'
  | 'successor'
  | 'connections'
  | 'new-service'
  | 'ingress';

/** One cell of the table: a fault of a component, and what shows that its work goes on. */
export interface Cell {
  readonly component: string;
  readonly fault: string;
  readonly kind: FaultKind['kind'];
  readonly target: Target;
  readonly peer?: Target;
  readonly act: ActName;
  /** Of `holder` and `renewal`: the beginning of the Lease's name in kube-system. */
  readonly lease?: string;
  /** Acts count when this Lease has another holder: a leader that is cut off from etcd works on until its own one ends. */
  readonly afterHandover?: string;
}

interface Component {
  readonly name: string;
  readonly target: Target;
  /** Whom it is cut off from: the name in the table, and the target. Of a component without replicas absent: only its restarts have a next act. */
  readonly peers?: Readonly<Record<string, Target>>;
  readonly lease?: string;
  /** Of one that does not need etcd for its work: its Lease. */
  readonly worksWithoutEtcd?: string;
  /** After the end of its process. */
  readonly afterEnd: ActName;
  /** While it stands still or is cut off; as after its end if absent. */
  readonly whileAway?: ActName;
}

const COMPONENTS: readonly Component[] = [
  {
    name: 'scheduler',
    target: 'scheduler/leader',
    peers: { 'the API': 'apiserver', etcd: 'etcd' },
    worksWithoutEtcd: 'kube-scheduler',
    afterEnd: 'binding',
  },
  {
    name: 'controller-manager',
    target: 'controller-manager/leader',
    peers: { 'the API': 'apiserver', etcd: 'etcd' },
    worksWithoutEtcd: 'kube-controller-manager',
    afterEnd: 'replicaset',
  },
  {
    name: 'API server',
    target: 'apiserver/1',
    peers: { 'the load balancer': 'load-balancer', etcd: 'etcd' },
    afterEnd: 'writes',
  },
  { name: 'etcd leader', target: 'etcd/leader', peers: { 'the other members': 'etcd/others' }, afterEnd: 'writes' },
  {
    name: 'storage owner',
    target: 'apiserver/leader',
    peers: { etcd: 'etcd' },
    afterEnd: 'election',
  },
  {
    name: 'agent',
    target: 'agent/standby',
    peers: { 'the API': 'apiserver' },
    afterEnd: 'pod-starts',
    whileAway: 'successor',
  },
  {
    name: 'host custodian',
    target: 'agent/leader',
    peers: { 'the API': 'apiserver' },
    lease: 'gantry-host-',
    afterEnd: 'renewal',
    whileAway: 'holder',
  },
  { name: 'load balancer', target: 'load-balancer/1', afterEnd: 'writes' },
  { name: 'proxy, known Services', target: 'proxy/1', afterEnd: 'connections' },
  { name: 'proxy, new Services', target: 'proxy/1', afterEnd: 'new-service' },
  { name: 'ingress', target: 'ingress/1', afterEnd: 'ingress' },
];

/** All cells, in the order of the table. */
export const CELLS: readonly Cell[] = COMPONENTS.flatMap(cellsOf);

/** The cells that are the same at Kubernetes: it has one etcd, and its agents and API servers are not elected. */
export const KUBERNETES_CELLS: readonly Cell[] = CELLS.filter(
  ({ component, kind, peer }) =>
    ['scheduler', 'controller-manager', 'API server'].includes(component) &&
    (['kill', 'terminate', 'pause'].includes(kind) || peer === 'apiserver'),
);

function cellsOf(component: Component): readonly Cell[] {
  const { name, target, peers, lease, worksWithoutEtcd, afterEnd, whileAway = afterEnd } = component;
  const prefix = target.startsWith('etcd/') ? 'etcd-' : '';
  const about = { component: name, target, ...(lease === undefined ? {} : { lease }) };
  const cuts = Object.entries(peers ?? {}).flatMap(([what, peer]): readonly Cell[] => {
    const handover = peer !== 'etcd' || worksWithoutEtcd === undefined ? {} : { afterHandover: worksWithoutEtcd };
    return [
      { ...about, ...handover, fault: `cut from ${what}`, kind: 'cut', peer, act: whileAway },
      { ...about, ...handover, fault: `its packets to ${what} are lost`, kind: 'cut-requests', peer, act: whileAway },
    ];
  });
  const ends: readonly Cell[] = [
    { ...about, fault: 'SIGKILL', kind: `${prefix}kill`, act: afterEnd },
    { ...about, fault: 'SIGTERM', kind: `${prefix}terminate`, act: afterEnd },
  ];
  if (peers === undefined) return ends;
  return [...ends, { ...about, fault: 'pause', kind: `${prefix}pause`, act: whileAway }, ...cuts];
}
