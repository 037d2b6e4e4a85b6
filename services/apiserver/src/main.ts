/**
 * The API server: Kubernetes' API over REST for clients, and over gRPC for the other services. It alone writes objects to etcd.
 *
 * - `endpoints/`: what clients reach; `http/`, `streams/`: the protocols beneath it
 * - `auth/`, `audit/`, `flow-control/`: who asks, what is logged of it, and how many requests run at once
 * - `registry/`: the one way to objects: its verbs, and the pipeline of every write; `admission/`, `allocators/` are steps of it
 * - `cache/`, `storage/`: all objects in memory, and in etcd
 * - `resource-registry`, `custom-resources/`, `aggregation/`, `webhooks/`: what clients add to the API, and how it is called
 * - `loops/`: what runs without a request
 *
 * `server.ts` and `run-api-server.ts` put them together. Two run behind the load balancer; none leads. docs/api.md follows a request.
 */
import { runMain } from '@gantry/service';
import { readApiServerConfig } from './config.ts';
import { runApiServer } from './run-api-server.ts';
import { runReseal } from './run-reseal.ts';

const [command, ...args] = process.argv.slice(2);
const config = readApiServerConfig();
if (command === 'reseal') await runReseal(config, args);
else await runMain(() => runApiServer(config));
