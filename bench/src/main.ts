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
import { optionsOrExit } from '@gantry/base/testing';
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
import { readOptions } from './options.ts';
import { measureSpeed, STEPS } from './speed/measure-speed.ts';
import { HEADING, lineOf, type Result } from './speed/report.ts';
import { clusterServer, type MeasuredServer } from './speed/server.ts';

const OTHERS = {
  footprint: measureFootprint,
  steady: (cluster: MeasuredCluster) => measureSteady(cluster, options.minutes),
};
/** These say what they have measured as they go: they take minutes, and an interrupted one keeps its results. */
const GRADUAL = {
  pods: measurePods,
  streams: measureStreams,
  'lost-node': (cluster: MeasuredCluster, line: (text: string) => void) =>
    measureLostNode(cluster, options.trials, line),
  load: (cluster: MeasuredCluster, line: (text: string) => void) =>
    measureLoad(cluster, { minutes: options.minutes, times: options.times }, line),
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

const known: readonly string[] = [...STEPS, ...Object.keys(OTHERS), ...Object.keys(GRADUAL), ...APART];
const options = optionsOrExit(() => readOptions(process.argv.slice(2), known));
const { measures } = options;

const steps = new Set(
  measures.length === 0
    ? STEPS
    : measures.filter((name) => !(name in OTHERS) && !(name in GRADUAL) && !APART.includes(name)),
);
if (steps.size > 0) {
  const results = await speed();
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, undefined, 2)}\n`);
}
for (const [name, measure] of Object.entries(GRADUAL)) {
  if (!measures.includes(name)) continue;
  const cluster = openCluster(options.kubeconfig);
  print(`\n## ${name}\n`);
  await measure(cluster, print);
  cluster.api[Symbol.dispose]();
}
for (const [name, measure] of Object.entries(OTHERS)) {
  if (!measures.includes(name)) continue;
  const cluster = openCluster(options.kubeconfig);
  print(`\n## ${name}\n\n${(await measure(cluster)).join('\n')}`);
  cluster.api[Symbol.dispose]();
}

if (measures.includes(CONTROLLERS)) {
  if (!options.dev) throw new Error(`${CONTROLLERS} needs --dev: it starts an API server and the controllers itself`);
  const transports = options.endpoints.filter((one) => one === 'grpc' || one === 'json');
  for (const pods of options.pods) {
    for (const transport of transports) {
      await using dev = await startDevServer({ profileDir: undefined, etcdMembers: options.etcd });
      const grpcPort = transport === 'grpc' ? dev.server.grpcPort : undefined;
      const lines = await measureControllers(dev.kubeconfig, { pods, grpcPort, profileDir: options.profile });
      print(`\n## ${CONTROLLERS}, ${pods} pods, ${transport}\n\n${lines.join('\n')}`);
    }
  }
}

if (measures.includes(CONSOLE)) {
  await using measured = options.dev ? await devConsole(options.etcd) : clusterConsole(options.kubeconfig);
  print(`\n## ${CONSOLE}, ${options.nodes} nodes\n`);
  await measureConsole(measured, { nodes: options.nodes, minutes: options.minutes, print });
}
if (measures.includes(DNS)) print(`\n## ${DNS}\n\n${(await measureDns()).join('\n')}`);
if (measures.includes(NETWORK)) {
  const cluster = openCluster(options.kubeconfig);
  print(`\n## ${NETWORK}`);
  await measureNetwork(cluster, { pods: options.ready, services: options.services, print });
  cluster.api[Symbol.dispose]();
}
if (measures.includes(OPERATOR)) {
  if (!options.dev) throw new Error(`${OPERATOR} needs --dev: it starts an API server for each controller itself`);
  const { objects, etcd, profile, beside } = options;
  const lines = await measureOperator({ objects, etcdMembers: etcd, profileDir: profile, beside });
  print(`\n## ${OPERATOR}\n\n${lines.join('\n')}`);
}
if (measures.includes(HOLLOW)) {
  if (!options.dev) throw new Error(`${HOLLOW} needs --dev: it starts an API server and the nodes itself`);
  await using dev = await startDevServer({ profileDir: undefined, etcdMembers: options.etcd });
  print(`\n## ${HOLLOW}, ${options.nodes} nodes\n`);
  await measureHollow(dev.kubeconfig, options.nodes, print);
}
if (measures.includes(SCHEDULER)) {
  if (!options.dev) throw new Error(`${SCHEDULER} needs --dev: it starts an API server and a scheduler itself`);
  print(`\n## ${SCHEDULER}, an API server over etcd of ${options.etcd} members\n`);
  const server = { etcdMembers: options.etcd, profileDir: options.profile };
  const targets = {
    ours: () => apiTarget(server),
    ...Object.fromEntries(
      options.beside.map((program) => [basename(program), () => apiTarget({ ...server, program })]),
    ),
  };
  await measureScheduler({ targets, wanted: options.workloads, print });
}
if (measures.includes(DECISIONS)) {
  print(`\n## ${DECISIONS}: a scheduler without an API\n`);
  await measureScheduler({ targets: { ours: directTarget }, wanted: options.workloads, print });
}

async function speed(): Promise<readonly Result[]> {
  if (!options.dev) return await speedOf(clusterServer(options.kubeconfig));
  await using dev = await startDevServer({ profileDir: options.profile, etcdMembers: options.etcd });
  return await speedOf(dev.server);
}

function speedOf(server: MeasuredServer): Promise<readonly Result[]> {
  print(`\n## speed of ${server.what}\n\n${HEADING}`);
  const onResult = (result: Result) => print(lineOf(result));
  const onFailure = (endpoint: string, error: unknown) => {
    print(`| not finished: ${String(error)} | ${endpoint} |`);
    process.exitCode = 1;
  };
  const endpoints = new Set(options.endpoints);
  return measureSpeed(server, { endpoints, steps, rounds: options.rounds, onResult, onFailure });
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
