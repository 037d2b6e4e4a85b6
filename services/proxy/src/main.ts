/**
 * Makes Services, host ports, addresses of Nodes and NetworkPolicies work for the pods and Nodes of one Docker host. It keeps one table
 * of the kernel's packet filter up to date with them. It runs in the host's network namespace, with the capability NET_ADMIN.
 *
 * - `rules`: pure. `plan-service` makes the decisions, `rule-book` finds the changes, `table` and `transaction` write them for nft
 * - `policy`: NetworkPolicies. `parse-policy` and `policy-chains` are pure, `policy-view` finds what a change affects
 * - `nft`: runs transactions, and watches for changes by other programs
 * - `hosts`: other Docker hosts of the cluster. `plan-hosts` and `plan-tunnel` are pure, `tunnel-keeper` reads and writes the kernel's
 *   state
 * - `host`: the rest of the host's network: ports and addresses of the bridge, the chain behind DOCKER-USER, conntrack's connections,
 *   health checks of Services
 *
 * `members` lists the tasks that run until the process stops. The files beside this one connect the parts. The proxy reaches the API
 * through the load balancer, because the host is on no Docker network.
 */
import { runMain } from '@gantry/service';
import { readProxyConfig } from './config.ts';
import { removePodPorts } from './host/bridge-addresses.ts';
import { removeRules, runProxy } from './run-proxy.ts';

await runMain(async () => {
  const config = readProxyConfig();
  // `remove ports` is for a host whose pods are gone.
  const [command, extent] = process.argv.slice(2);
  if (command !== 'remove') return await runProxy(config);
  await removeRules(config);
  if (extent === 'ports') await removePodPorts(config.podBridge, new AbortController().signal);
  return { kind: 'signal', signal: 'SIGTERM', stop: 'orderly' };
});
