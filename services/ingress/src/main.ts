/**
 * The ingress controller lets clients outside of the cluster reach Services by host and path, over HTTP and HTTPS. HAProxy serves the
 * requests. This process is its parent and configures it while it runs. Clients reach it at ports that Compose publishes on the host.
 *
 * - `rules`: pure. `plan` makes the decisions: it turns Ingresses, classes, Services and Secrets into routes, certificates and refusals.
 *   `hosts` decides which namespace has a host, and how routes' keys look up hosts and paths. `bounds` decides how much a namespace may
 *   have. `endpoints` chooses addresses, `certificate` checks a Secret's content, `planned-part` reduces objects for the caches
 * - `haproxy`: `configuration` and `change` are pure: its files and commands. `haproxy` and `certificate-store` are the running process
 * - `cluster`: reads objects for the caches (`kept-ingresses` decides which Ingresses keep their rules), watches each Secret that
 *   Ingresses use, writes status and Events, and stores the file of the hosts' owners
 *
 * The files beside this one connect the parts: `cluster-view` plans the changes, `programmer` applies them to HAProxy.
 */
import { runMain } from '@gantry/service';
import { readIngressConfig } from './config.ts';
import { runIngress } from './run-ingress.ts';

await runMain(() => runIngress(readIngressConfig()));
