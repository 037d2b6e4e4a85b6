import { must } from '@gantry/base';
import { gatewayOf, REPORT_PORT } from '@gantry/objects';
import { FROM_OUTSIDE_MARK } from './plan-service.ts';
import type { Topology } from './topology.ts';

/** The fixed sets and maps. A packet is looked up in them, so its cost does not depend on the number of Services. */
const CONTAINERS = `
  set cluster-addresses { type ipv4_addr; }
  set node-addresses { type ipv4_addr; }
  set own-addresses { type ipv4_addr . ipv4_addr; }
  set load-balancer-addresses { type ipv4_addr; }
  map agents { type ipv4_addr : ipv4_addr; }
  map host-ports { type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service; }
  map any-host-ports { type inet_proto . inet_service : ipv4_addr . inet_service; }
  map services { type ipv4_addr . inet_proto . inet_service : verdict; }
  map endpoints {
    typeof ip daddr . meta l4proto . ct original proto-dst . numgen random mod 2 : ip daddr . ct original proto-dst
  }
  map node-port-endpoints {
    typeof meta l4proto . ct original proto-dst . numgen random mod 2 : ip daddr . ct original proto-dst
  }
  map node-ports { type inet_proto . inet_service : verdict; }
  map no-endpoints { type ipv4_addr . inet_proto . inet_service : verdict; }
  map no-endpoint-node-ports { type inet_proto . inet_service : verdict; }
  map source-checked { type ipv4_addr . inet_proto . inet_service : verdict; }
  map tunnel-sources { type ipv4_addr : verdict; }
  set other-hosts { type ipv4_addr; flags interval; }
  map ingress-isolated { type ipv4_addr : verdict; }
  map egress-isolated { type ipv4_addr : verdict; }
  set always-open { type ipv4_addr . ipv4_addr; }`;

const SERVICE = 'ip daddr . meta l4proto . th dport';
const NODE_PORT = 'meta l4proto . th dport';
/** The port at which an agent answers, whatever host ports pods have. */
const AGENT_PORT = 10_250;

export interface SkeletonOptions extends Pick<Topology, 'podBridge' | 'podCidr' | 'serviceCidr'> {
  /** The port of the API on 127.0.0.1. */
  readonly apiPort: number;
  /** Undefined on a host that reaches no other hosts. */
  readonly tunnel: TunnelRules | undefined;
}

/** The tunnel to the pods of other hosts, as the rules need it. */
export interface TunnelRules {
  readonly device: string;
  /** The number of the cluster's VXLAN. */
  readonly vni: number;
  /** This host's address on its pod bridge. Other hosts reply to it. */
  readonly gateway: string;
}

/** Positions in a VXLAN packet, in bits from the start of the UDP header: the number of the network, and the type of the inner packet. */
const VXLAN = { number: '@th,96,24', innerType: '@th,224,16' } as const;
const IPV4_TYPE = '0x0800';
/** The port that IANA has assigned to VXLAN. */
export const VXLAN_PORT = 4789;

/** The ports that the host offers to itself and to other hosts: the engine's API and its cluster mode. */
const ENGINE_PORTS = '{ 2375, 2376, 2377, 7946 }';
/** The ports of networks between hosts. A pod's packet to them would appear in such a network as a packet from another host. */
const TUNNEL_PORTS = '{ 4789, 7946, 8472 }';

/**
 * NetworkPolicies apply to new connections, except between a pod and itself or its Node. At that point destinations are already
 * translated, and sources are not. Packets that the host itself sends are never forwarded. Packets that an egress policy accepts are
 * still checked by the ingress policies.
 */
const UNJUDGED = 'ct state established,related accept; ip saddr . ip daddr @always-open accept';

/**
 * The table without the parts of Services, pods and policies. Its hooks run just before Docker's. Docker's filter may still drop packets
 * that ours has passed, and ours never accepts a packet that Docker's would drop.
 *
 * Pods of other clusters on this host (their bridges are named `gtp-...`) have their own proxy, perhaps with the same ClusterIPs.
 *
 * Each cluster of the host first routes packets for its own addresses, and only then packets for any address of the host, because that
 * address may belong to another cluster. A translation ends the look-up in all tables.
 *
 * Host ports come last, so that a pod cannot take a NodePort or a Service's address. A pod cannot take the API on 127.0.0.1 either:
 * without the API the rule could not be removed. Host ports without an address do not apply to the host's loopback, because the host's
 * own programs, including Ingresses, serve there.
 *
 * Packets of other hosts come through the tunnel and are checked twice. The outer UDP packet is checked, because its source is the host
 * that has sent it. The inner packet is checked too: its destination has to be in this host's range. Packets of pods to other hosts keep
 * their source, so that policies there can check it. All other packets get this host's address on its bridge, because replies have to
 * come back. Translating an address to itself ends the look-up, like every translation. Otherwise the engine would masquerade these
 * packets.
 *
 * Agents are reached at their Nodes' addresses from the pods' network, the host and other hosts of the cluster, but not from other
 * machines. Packets to agents are masqueraded, so that replies pass here even if bridges do not pass packets to the filter. The same
 * clients reach the proxy's own port at the host's address on the bridge, which no pod can take.
 */
export function tableSkeleton(topology: SkeletonOptions): string {
  const { podBridge, podCidr, serviceCidr, apiPort, tunnel } = topology;
  const { chains, toOthers, fromOthers, outer, closed, translation } = tunnelLines(topology);
  const translate = 'meta l4proto { tcp, udp, sctp } dnat ip addr . port to';
  const agents = `tcp dport ${AGENT_PORT} dnat to ip daddr map @agents`;
  const report = `ip daddr ${must(gatewayOf(podCidr), 'a range of pods')} tcp dport ${REPORT_PORT}`;
  const inside = ['lo', podBridge, ...(tunnel === undefined ? [] : [tunnel.device])].map((name) => `"${name}"`);
  const ownTunnel = tunnel === undefined ? '' : ` iifname != "${tunnel.device}"`;
  const foreign = `iifname "gtp-*" iifname != "${podBridge}" return; iifname "gtv-*"${ownTunnel} return`;
  const agentsOfOthers = tunnel === undefined ? '' : ` iifname "${tunnel.device}" ${agents};`;
  return `${CONTAINERS}
  chain reject-packet { meta l4proto tcp reject with tcp reset; reject; }
  chain check-sources { ct state new ${SERVICE} vmap @source-checked; }
  chain route-to-own {
    ${SERVICE} vmap @services
    ip daddr @node-addresses ${NODE_PORT} vmap @node-ports
    ip daddr @node-addresses ${translate} ${SERVICE} map @host-ports
  }
  chain route-to-host {
    ip daddr 127.0.0.0/8 tcp dport ${apiPort} return
    ${report} return
    ip daddr != 127.0.0.0/8 fib daddr type local ${NODE_PORT} vmap @node-ports
    fib daddr type local ${translate} ${SERVICE} map @host-ports
    ip daddr != 127.0.0.0/8 ip daddr != @node-addresses ip daddr != @load-balancer-addresses jump route-to-any
  }
  chain route-to-any { fib daddr type local ${translate} ${NODE_PORT} map @any-host-ports; }
  chain check-endpoints {
    ${SERVICE} vmap @no-endpoints
    ip daddr @node-addresses ${NODE_PORT} vmap @no-endpoint-node-ports
  }
  chain check-cluster-addresses {
    ip daddr @cluster-addresses goto reject-packet
    ip daddr ${serviceCidr} drop
  }
${chains}  chain before-prerouting { type filter hook prerouting priority -115; policy accept; ${foreign};${fromOthers} jump check-sources; }
  chain before-output { type filter hook output priority -115; policy accept; jump check-sources; }
  chain prerouting { type nat hook prerouting priority -106; policy accept; ${foreign}; iifname "${podBridge}" ${agents};${agentsOfOthers} jump route-to-own; }
  chain output { type nat hook output priority -106; policy accept; ${agents}; jump route-to-own; }
  chain prerouting-to-host { type nat hook prerouting priority -105; policy accept; ${foreign}; jump route-to-host; }
  chain output-to-host { type nat hook output priority -105; policy accept; jump route-to-host; }
  chain input {
    type filter hook input priority -5; policy accept;
    iifname "${podBridge}" tcp dport ${ENGINE_PORTS} drop
    iifname "${podBridge}" udp dport ${TUNNEL_PORTS} drop
    iifname != { ${inside.join(', ')} } ${report} drop
${closed}${outer}    ct state new ip daddr != 127.0.0.0/8 ${NODE_PORT} vmap @no-endpoint-node-ports
    ct state new ip daddr @load-balancer-addresses meta l4proto != icmp goto reject-packet
  }
  chain forward {
    type filter hook forward priority -5; policy accept;
    ${foreign}
${toOthers}    ct state new jump check-endpoints
    ct state new jump check-cluster-addresses
  }
  chain egress-policies { type filter hook forward priority -4; policy accept; ${UNJUDGED}; ip saddr vmap @egress-isolated; }
  chain ingress-policies { type filter hook forward priority -3; policy accept; ${UNJUDGED}; ip daddr vmap @ingress-isolated; }
  chain filter-output {
    type filter hook output priority -5; policy accept;
    ct state new jump check-endpoints
    ct state new jump check-cluster-addresses
  }
  chain postrouting {
    type nat hook postrouting priority 95; policy accept;
    ct status dnat ip saddr . ip daddr @own-addresses masquerade
    ct status dnat ct original ip daddr @node-addresses ct protocol tcp ct original proto-dst ${AGENT_PORT} masquerade
    oifname "${podBridge}" ip saddr 127.0.0.0/8 masquerade
${translation}    meta mark & ${FROM_OUTSIDE_MARK} == ${FROM_OUTSIDE_MARK} oifname != "${podBridge}" masquerade
  }
`;
}

/** The lines for a host that reaches other hosts. */
function tunnelLines({ tunnel, podBridge, podCidr }: SkeletonOptions): Readonly<Record<TunnelPart, string>> {
  if (tunnel === undefined) return NO_TUNNEL;
  const { device, vni, gateway } = tunnel;
  return {
    chains: `  chain tunnel-packets {
    ${VXLAN.innerType} != ${IPV4_TYPE} drop
    ip saddr vmap @tunnel-sources
    drop
  }
  chain from-other-hosts {
    ip saddr != @other-hosts drop
    ip daddr != ${podCidr} drop
  }
`,
    fromOthers: ` iifname "${device}" jump from-other-hosts;`,
    outer: `    udp dport ${VXLAN_PORT} ${VXLAN.number} ${vni} jump tunnel-packets
`,
    closed: `    iifname "${device}" tcp dport ${ENGINE_PORTS} drop
    iifname "${device}" udp dport ${TUNNEL_PORTS} drop
`,
    toOthers: `    iifname "${podBridge}" oifname "${device}" ip saddr != ${podCidr} drop
    oifname "${device}" tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu
`,
    translation: `    oifname "${device}" ip saddr ${podCidr} snat to ip saddr
    oifname "${device}" snat to ${gateway}
`,
  };
}

type TunnelPart = 'chains' | 'fromOthers' | 'outer' | 'closed' | 'toOthers' | 'translation';

const NO_TUNNEL = { chains: '', fromOthers: '', outer: '', closed: '', toOthers: '', translation: '' } as const;
