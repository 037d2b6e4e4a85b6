/**
 * Makes Services, host ports, addresses of Nodes and NetworkPolicies work for the pods and Nodes of one Docker host: keeps one table of the
 * kernel's packet filter in step with them. It runs in the host's network namespace, with the capability NET_ADMIN.
 *
 * - `rules`: pure; `plan-service` is the decision, `rule-book` what of it has changed, `table` and `transaction` its text for nft
 * - `policy`: NetworkPolicies; `parse-policy` and `policy-chains` are pure, `policy-view` finds what a change concerns
 * - `nft`: carries out transactions, and watches for changes by other programs
 * - `hosts`: other Docker hosts of the cluster; `plan-hosts` and `plan-tunnel` are pure, `tunnel-keeper` reads and writes what the kernel has
 * - `host`: the rest of the host's network: ports and addresses of the bridge, the chain behind DOCKER-USER, connections that conntrack
 *   remembers, health checks of Services
 *
 * `members` lists what runs until the process stops; the files beside this one wire them together. The API is reached through the load
 * balancer: the host is on no Docker network.
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
