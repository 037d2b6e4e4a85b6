/**
 * The ingress controller: lets clients outside of the cluster reach Services by host and path, over HTTP and HTTPS. HAProxy serves the
 * requests; this process is its parent and configures it while it runs. It is reached at ports that Compose publishes on the host.
 *
 * - `rules`: pure; `plan` is the decision: Ingresses, classes, Services and Secrets to routes and certificates, and what is refused of
 *   them; `hosts` says which namespace has a host, `bounds` and `shares` how much one may have; `endpoints` chooses addresses,
 *   `route-keys` is how hosts and paths are looked up, `certificate` what a Secret must hold, `planned-part` what caches hold
 * - `haproxy`: `configuration` and `change` are pure, its files and commands; `haproxy` and `certificate-store` are the running process
 * - `cluster`: reads objects for the caches (`kept-ingresses`: of which Ingresses the rules); the Secrets that Ingresses name, watched one
 *   by one; status and Events; the file of the hosts' owners
 *
 * The files beside this one wire them together: `cluster-view` plans what has changed, `programmer` brings it to HAProxy.
 */
import { runMain } from '@gantry/service';
import { readIngressConfig } from './config.ts';
import { runIngress } from './run-ingress.ts';

await runMain(() => runIngress(readIngressConfig()));
