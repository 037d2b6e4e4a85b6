/**
 * The API server serves Kubernetes' API: over REST for clients, over gRPC for the other services. Only API servers write objects to etcd.
 *
 * - `endpoints/`: the endpoints for clients; `http/`: the HTTP server
 * - `auth/`, `audit/`, `flow-control/`: authentication and authorisation, the audit log, and limits of concurrent requests
 * - `registry/`: reads and writes of objects: the verbs, and the pipeline of every write; `admission/`, `allocators/`: steps of a write
 * - `cache/`, `storage/`: all objects in memory and in etcd
 * - `resource-registry`, `custom-resources/`, `aggregation/`, `webhooks/`: extensions of the API by clients
 * - `loops/`: control loops, which run without a request
 *
 * `server.ts` and `run-api-server.ts` connect these parts. Two API servers run behind the load balancer, without a leader. docs/api.md
 * follows a request through the parts.
 */
import { runMain } from '@gantry/service';
import { readApiServerConfig } from './config.ts';
import { runApiServer } from './run-api-server.ts';
import { runReseal } from './run-reseal.ts';

const [command, ...args] = process.argv.slice(2);
const config = readApiServerConfig();
if (command === 'reseal') await runReseal(config, args);
else await runMain(() => runApiServer(config));
