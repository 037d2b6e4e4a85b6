import { FROM_OUTSIDE_MARK } from './plan-service.ts';
import type { Topology } from './topology.ts';

/** The fixed maps: a packet is looked up in them, so its cost does not depend on the number of Services. */
const CONTAINERS = `
  set cluster-addresses { type ipv4_addr; }
  set node-addresses { type ipv4_addr; }
  set own-addresses { type ipv4_addr . ipv4_addr; }
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
  map source-checked { type ipv4_addr . inet_proto . inet_service : verdict; }`;

const SERVICE = 'ip daddr . meta l4proto . th dport';
const NODE_PORT = 'meta l4proto . th dport';

/**
 * The table without what belongs to Services. The hooks are just before those of Docker: its filter may drop packets after ours has
 * passed them, and ours never accepts a packet that it would drop.
 *
 * Pods of other clusters on this host (bridges named `gtp-...`) have a proxy of their own, perhaps with the same ClusterIPs.
 */
export function tableSkeleton(topology: Pick<Topology, 'podBridge' | 'serviceCidr'>): string {
  const { podBridge, serviceCidr } = topology;
  const foreign = `iifname "gtp-*" iifname != "${podBridge}" return`;
  return `${CONTAINERS}
  chain reject-packet { reject; }
  chain check-sources { ct state new ${SERVICE} vmap @source-checked; }
  chain route-packet {
    ${SERVICE} vmap @services
    ip daddr @node-addresses ${NODE_PORT} vmap @node-ports
    ip daddr != 127.0.0.0/8 fib daddr type local ${NODE_PORT} vmap @node-ports
  }
  chain check-endpoints {
    ${SERVICE} vmap @no-endpoints
    ip daddr @node-addresses ${NODE_PORT} vmap @no-endpoint-node-ports
  }
  chain check-cluster-addresses {
    ip daddr @cluster-addresses reject
    ip daddr ${serviceCidr} drop
  }
  chain before-prerouting { type filter hook prerouting priority -115; policy accept; ${foreign}; jump check-sources; }
  chain before-output { type filter hook output priority -115; policy accept; jump check-sources; }
  chain prerouting { type nat hook prerouting priority -105; policy accept; ${foreign}; jump route-packet; }
  chain output { type nat hook output priority -105; policy accept; jump route-packet; }
  chain input {
    type filter hook input priority -5; policy accept;
    ct state new ip daddr != 127.0.0.0/8 ${NODE_PORT} vmap @no-endpoint-node-ports
  }
  chain forward {
    type filter hook forward priority -5; policy accept;
    ${foreign}
    ct state new jump check-endpoints
    ct state new jump check-cluster-addresses
  }
  chain filter-output {
    type filter hook output priority -5; policy accept;
    ct state new jump check-endpoints
    ct state new jump check-cluster-addresses
  }
  chain postrouting {
    type nat hook postrouting priority 95; policy accept;
    ct status dnat ip saddr . ip daddr @own-addresses masquerade
    meta mark & ${FROM_OUTSIDE_MARK} == ${FROM_OUTSIDE_MARK} oifname != "${podBridge}" masquerade
  }
`;
}
