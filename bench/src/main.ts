// Measures and prints a report in Markdown; with --json also into a file.
//   npm run bench -- [--kubeconfig FILE] [--json FILE] [--endpoints json,protobuf,grpc] [create get update list watch]
//     the API server of a running cluster (`npm run up`); all steps and endpoints by default
//   npm run bench -- --dev [--etcd MEMBERS] [--profile DIR] [--rounds N] [...]
//     an API server in its own process, with the memory store or its own etcd; --profile writes a CPU profile to DIR.
//     Requests are measured N times, the first time without compiled code
//   npm run bench -- --dev [--pods 1000,10000] [--endpoints grpc] [--profile DIR] controllers
//     all controllers in a process of their own, over gRPC and REST: time until a Deployment's pods exist, CPU a pod, memory
//   npm run bench -- --dev [--etcd MEMBERS] [--objects 10000] [--profile DIR] [--beside PROGRAM]... operator
//     a controller of so many custom objects with one ConfigMap each, by the package for operators: time, requests, CPU, memory
//   npm run bench -- dns
//     our DNS and Debian's dnsmasq for the same names, in processes of their own
//   npm run bench -- --dev [--nodes 1000] hollow
//     one process that plays so many nodes with ten pods each: time, memory, cost at rest
//   npm run bench -- [--dev] [--nodes 1000] [--minutes 10] console
//     the page of the console in Chromium with so many hollow nodes and ten pods each, which change for so long: first view, frames, memory;
//     what ten viewers cost the console and API servers. With --dev without a cluster
//   npm run bench -- --dev [--etcd 1] [--workloads REGEX] [--profile DIR] [--beside PROGRAM]... scheduler
//     scheduler_perf's workloads: an API server, our scheduler, 5,000 Node objects; pods a second and CPU a pod. Each is run again with
//     the program, a kube-scheduler, in the place of ours
//   npm run bench -- [--workloads REGEX] decisions
//     the same without an API: the scheduler's queue, caches and decisions in this process
//   npm run bench -- footprint pods
//     other measures of a running cluster
//   npm run bench -- [--trials 10] lost-node
//     kills an agent so many times: until its pods' successors are Ready
//   npm run bench -- [--minutes 10] steady
//     one node with 110 pods that are probed: CPU, memory, requests to the engine, writes to the API
//   npm run bench -- [--ready 40] [--services 10000] network
//     Services of a running cluster, the latency of their programming for so many pods, so many Services, and DNS
//   npm run load -- [--minutes 10] [--times 20]
//     the same as `npm run bench -- load`: a running cluster on a machine with so many times the work that it can do. No container may
//     start again, no stream may be cut, no acknowledged write may be lost; needs kubectl
//   npm run bench -- streams
//     a gigabyte through kubectl exec and cp, and through docker exec; needs kubectl
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { type MeasuredCluster, openCluster } from './cluster.ts';
import { measureConsole } from './console/measure-console.ts';
import { clusterConsole, devConsole } from './console/target.ts';
import { measureControllers } from './controllers.ts';
import { measureDns } from './dns.ts';
import { measureFootprint } from './footprint.ts';
import { measureHollow } from './hollow.ts';
import { measureLoad } from './load.ts';
import { measureLostNode } from './lost-node.ts';
import { measurePods } from './pods.ts';
import { measureSteady } from './steady.ts';
import { measureStreams } from './streams.ts';
import { measureScheduler } from './scheduler/measure-scheduler.ts';
import { apiTarget, directTarget } from './scheduler/targets.ts';
import { startDevServer } from './speed/dev-server.ts';
import { measureOperator } from './operator/measure-operator.ts';
import { measureNetwork } from './network/measure-network.ts';
import { ENDPOINTS, measureSpeed, STEPS } from './speed/measure-speed.ts';
import { HEADING, lineOf, type Result } from './speed/report.ts';
import { clusterServer, type MeasuredServer } from './speed/server.ts';

const OTHERS = {
  footprint: measureFootprint,
  steady: (cluster: MeasuredCluster) => measureSteady(cluster, Number(values.minutes)),
};
/** These say what they have measured as they go: they take minutes, and an interrupted one keeps its results. */
const GRADUAL = {
  pods: measurePods,
  streams: measureStreams,
  'lost-node': (cluster: MeasuredCluster, line: (text: string) => void) =>
    measureLostNode(cluster, Number(values.trials), line),
  load: (cluster: MeasuredCluster, line: (text: string) => void) =>
    measureLoad(cluster, { minutes: Number(values.minutes), times: Number(values.times) }, line),
};

const CONSOLE = 'console';
const CONTROLLERS = 'controllers';
const DNS = 'dns';
const HOLLOW = 'hollow';
const NETWORK = 'network';
const OPERATOR = 'operator';
const SCHEDULER = 'scheduler';
const DECISIONS = 'decisions';
const APART: readonly string[] = [CONSOLE, CONTROLLERS, DNS, HOLLOW, NETWORK, SCHEDULER, DECISIONS, OPERATOR];

const { values, positionals } = parseArgs({
  options: {
    kubeconfig: { type: 'string', default: '.gantry/kubeconfig' },
    dev: { type: 'boolean', default: false },
    pods: { type: 'string', default: '1000,10000' },
    objects: { type: 'string', default: '10000' },
    nodes: { type: 'string', default: '1000' },
    etcd: { type: 'string', default: '0' },
    profile: { type: 'string' },
    beside: { type: 'string', multiple: true, default: [] },
    trials: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '10' },
    times: { type: 'string', default: '20' },
    ready: { type: 'string', default: '40' },
    workloads: { type: 'string', default: '' },
    services: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '1' },
    json: { type: 'string' },
    endpoints: { type: 'string', default: ENDPOINTS.join(',') },
  },
  allowPositionals: true,
});
const known: readonly string[] = [...STEPS, ...Object.keys(OTHERS), ...Object.keys(GRADUAL), ...APART];
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`no such measure: ${unknown.join(', ')}; there are ${known.join(', ')}`);

const steps = new Set(
  positionals.length === 0
    ? STEPS
    : positionals.filter((name) => !(name in OTHERS) && !(name in GRADUAL) && !APART.includes(name)),
);
if (steps.size > 0) {
  const results = await speed();
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, undefined, 2)}\n`);
}
for (const [name, measure] of Object.entries(GRADUAL)) {
  if (!positionals.includes(name)) continue;
  const cluster = openCluster(values.kubeconfig);
  print(`\n## ${name}\n`);
  await measure(cluster, print);
  cluster.api[Symbol.dispose]();
}
for (const [name, measure] of Object.entries(OTHERS)) {
  if (!positionals.includes(name)) continue;
  const cluster = openCluster(values.kubeconfig);
  print(`\n## ${name}\n\n${(await measure(cluster)).join('\n')}`);
  cluster.api[Symbol.dispose]();
}

if (positionals.includes(CONTROLLERS)) {
  if (!values.dev) throw new Error(`${CONTROLLERS} needs --dev: it starts an API server and the controllers itself`);
  const transports = values.endpoints.split(',').filter((one) => one === 'grpc' || one === 'json');
  for (const pods of values.pods.split(',').map(Number)) {
    for (const transport of transports) {
      await using dev = await startDevServer({ profileDir: undefined, etcdMembers: Number(values.etcd) });
      const grpcPort = transport === 'grpc' ? dev.server.grpcPort : undefined;
      const lines = await measureControllers(dev.kubeconfig, { pods, grpcPort, profileDir: values.profile });
      print(`\n## ${CONTROLLERS}, ${pods} pods, ${transport}\n\n${lines.join('\n')}`);
    }
  }
}

if (positionals.includes(CONSOLE)) {
  await using measured = values.dev ? await devConsole(Number(values.etcd)) : clusterConsole(values.kubeconfig);
  print(`\n## ${CONSOLE}, ${values.nodes} nodes\n`);
  await measureConsole(measured, { nodes: Number(values.nodes), minutes: Number(values.minutes), print });
}
if (positionals.includes(DNS)) print(`\n## ${DNS}\n\n${(await measureDns()).join('\n')}`);
if (positionals.includes(NETWORK)) {
  const cluster = openCluster(values.kubeconfig);
  print(`\n## ${NETWORK}`);
  await measureNetwork(cluster, { pods: Number(values.ready), services: Number(values.services), print });
  cluster.api[Symbol.dispose]();
}
if (positionals.includes(OPERATOR)) {
  if (!values.dev) throw new Error(`${OPERATOR} needs --dev: it starts an API server for each controller itself`);
  const [objects, etcdMembers] = [Number(values.objects), Number(values.etcd)];
  const lines = await measureOperator({ objects, etcdMembers, profileDir: values.profile, beside: values.beside });
  print(`\n## ${OPERATOR}\n\n${lines.join('\n')}`);
}
if (positionals.includes(HOLLOW)) {
  if (!values.dev) throw new Error(`${HOLLOW} needs --dev: it starts an API server and the nodes itself`);
  await using dev = await startDevServer({ profileDir: undefined, etcdMembers: Number(values.etcd) });
  print(`\n## ${HOLLOW}, ${values.nodes} nodes\n`);
  await measureHollow(dev.kubeconfig, Number(values.nodes), print);
}
if (positionals.includes(SCHEDULER)) {
  if (!values.dev) throw new Error(`${SCHEDULER} needs --dev: it starts an API server and a scheduler itself`);
  print(`\n## ${SCHEDULER}, an API server over etcd of ${values.etcd} members\n`);
  const options = { etcdMembers: Number(values.etcd), profileDir: values.profile };
  const { beside } = values;
  const targets = {
    ours: () => apiTarget(options),
    ...Object.fromEntries(beside.map((program) => [basename(program), () => apiTarget({ ...options, program })])),
  };
  await measureScheduler({ targets, wanted: values.workloads, print });
}
if (positionals.includes(DECISIONS)) {
  print(`\n## ${DECISIONS}: a scheduler without an API\n`);
  await measureScheduler({ targets: { ours: directTarget }, wanted: values.workloads, print });
}

async function speed(): Promise<readonly Result[]> {
  if (!values.dev) return await speedOf(clusterServer(values.kubeconfig));
  await using dev = await startDevServer({ profileDir: values.profile, etcdMembers: Number(values.etcd) });
  return await speedOf(dev.server);
}

function speedOf(server: MeasuredServer): Promise<readonly Result[]> {
  print(`\n## speed of ${server.what}\n\n${HEADING}`);
  const onResult = (result: Result) => print(lineOf(result));
  const onFailure = (endpoint: string, error: unknown) => {
    print(`| not finished: ${String(error)} | ${endpoint} |`);
    process.exitCode = 1;
  };
  const endpoints = new Set(values.endpoints.split(','));
  return measureSpeed(server, { endpoints, steps, rounds: Number(values.rounds), onResult, onFailure });
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
