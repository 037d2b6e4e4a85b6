// Measures and prints a report in Markdown; with --json also into a file.
//   npm run bench -- [--kubeconfig FILE] [--endpoints json,protobuf,grpc] [create get update patch delete list watch]
//     the API server of a running cluster (`npm run up`); all steps and endpoints by default
//   npm run bench -- --reference FOLDER [...]
//     the same, each step also at Kubernetes, with `kubeconfig` and `run/{kube-apiserver,etcd}.pid` in FOLDER, and a table of both
//   npm run bench -- [--json FILE] [--compare FILE] [...]
//     saves the figures of the API server and of `scheduler`, `decisions`, `way`, `growth`, `churn` and `rest`; prints a table of a saved
//     run's figures and the new ones
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
//   npm run bench -- [--dev] [--etcd 1] [--nodes 100] [--pods 2000,5000] [--profile DIR] way
//     pods of Deployments on hollow nodes: rates, and CPU a pod of each service. With --dev without a cluster
//   npm run bench -- --dev [--etcd 1] growth
//     the cost of a pod with 100 to 10,000 pods and 10 to 1,000 nodes
//   npm run bench -- [--dev] [--etcd 1] [--nodes 100] [--pods 1000] [--rounds 15] churn
//     memory of each service while so many pods come and go; 15 rounds of 1,000 are what a day has at 10 pods a minute
//   npm run bench -- [--minutes 10] rest
//     an idle cluster line by line: CPU and wake-ups of each service and of the engine, writes, commands in containers
//   npm run bench -- pods
//     1, 10 and 50 pods to Running and to gone, beside the engine alone
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
import { basename } from 'node:path';
import { optionsOrExit } from '@gantry/base/testing';
import { type MeasuredCluster, openCluster } from './cluster.ts';
import { measureConsole } from './console/measure-console.ts';
import { clusterConsole, devConsole } from './console/target.ts';
import { measureControllers } from './controllers.ts';
import { measureDns } from './dns.ts';
import { comparison, type Figure } from './figures.ts';
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
import { figuresOf, HEADING, lineOf, type Row, verdictsOf } from './speed/report.ts';
import { clusterServer, type MeasuredServer, referenceServer } from './speed/server.ts';
import { measureRest } from './rest.ts';
import { describeRun, saveRun } from './runs.ts';
import { measureChurn, measureGrowth, measureWay } from './way/measure-way.ts';
import { clusterSystem, startDevSystem } from './way/system.ts';

/** Of a running cluster. They print what they have measured as they go: an interrupted one keeps its results. */
const OF_CLUSTER = {
  pods: measurePods,
  steady: (cluster: MeasuredCluster, line: (text: string) => void) => measureSteady(cluster, options.minutes, line),
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
const WAY = 'way';
const GROWTH = 'growth';
const CHURN = 'churn';
const REST = 'rest';
const APART: readonly string[] = [
  ...[CONSOLE, CONTROLLERS, DNS, HOLLOW, NETWORK, SCHEDULER, DECISIONS, OPERATOR],
  ...[WAY, GROWTH, CHURN, REST],
];
/** Rounds of `churn`: with 1,000 pods each, a day's at 10 pods a minute. */
const CHURN_ROUNDS = 15;

const known: readonly string[] = [...STEPS, ...Object.keys(OF_CLUSTER), ...APART];
const options = optionsOrExit(() => readOptions(process.argv.slice(2), known));
const { measures } = options;

const steps = new Set(
  measures.length === 0 ? STEPS : measures.filter((name) => !(name in OF_CLUSTER) && !APART.includes(name)),
);
const figures: Figure[] = [];
if (steps.size > 0) await speed();
for (const [name, measure] of Object.entries(OF_CLUSTER)) {
  if (!measures.includes(name)) continue;
  const cluster = openCluster(options.kubeconfig);
  print(`\n## ${name}\n`);
  await measure(cluster, print);
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
  figures.push(...(await measureScheduler({ targets, wanted: options.workloads, print })));
}
if (measures.includes(DECISIONS)) {
  print(`\n## ${DECISIONS}: a scheduler without an API\n`);
  const targets = { ours: directTarget };
  figures.push(...(await measureScheduler({ targets, wanted: options.workloads, print })));
}

if (measures.includes(WAY)) {
  for (const pods of options.pods) {
    await using system = await startSystem();
    print(`\n## ${WAY}: ${system.what}\n`);
    figures.push(...(await measureWay(system, { nodes: options.nodes, pods }, print)));
  }
}
if (measures.includes(GROWTH)) {
  if (!options.dev) throw new Error(`${GROWTH} needs --dev: it starts a cluster of each size itself`);
  print(`\n## ${GROWTH}\n`);
  figures.push(...(await measureGrowth({ etcdMembers: options.etcd, profileDir: options.profile }, print)));
}
if (measures.includes(CHURN)) {
  const rounds = options.rounds ?? CHURN_ROUNDS;
  await using system = await startSystem();
  print(`\n## ${CHURN}: ${system.what}\n`);
  const [pods = 1] = options.pods;
  figures.push(...(await measureChurn(system, { nodes: options.nodes, pods, rounds }, print)));
}
if (measures.includes(REST)) {
  const cluster = openCluster(options.kubeconfig);
  print(`\n## ${REST}\n`);
  figures.push(...(await measureRest(cluster, options.minutes, print)));
  cluster.api[Symbol.dispose]();
}
const run = describeRun(figures);
if (options.compare !== undefined) {
  const { revision, at, processors, figures: saved } = options.compare;
  print(`\n## Compared with ${revision} of ${at}, on ${processors}\n`);
  print(comparison({ name: revision, figures: saved }, { name: run.revision, figures }).join('\n'));
}
// Last, since it fails for a figure that is no number.
if (options.json !== undefined) saveRun(options.json, run);

function startSystem(): ReturnType<typeof startDevSystem> {
  if (!options.dev) return Promise.resolve(clusterSystem(options.kubeconfig));
  return startDevSystem({ etcdMembers: options.etcd, profileDir: options.profile });
}

async function speed(): Promise<void> {
  if (!options.dev) return await speedOf(clusterServer(options.kubeconfig));
  await using dev = await startDevServer({ profileDir: options.profile, etcdMembers: options.etcd });
  return await speedOf(dev.server);
}

/** Measures the server. Where there is a reference, both in turns, step by step. */
async function speedOf(server: MeasuredServer): Promise<void> {
  if (options.reference === undefined) {
    print(`\n## speed of ${server.what}\n\n${HEADING}`);
    judgeAll(await stepsOf(server, steps, figures));
    return;
  }
  const reference = referenceServer(options.reference);
  const theirs: Figure[] = [];
  const ours: Row[] = [];
  for (const step of steps) {
    for (const one of [reference, server]) {
      print(`\n## ${step}: ${one.what}\n\n${HEADING}`);
      const rows = await stepsOf(one, new Set([step]), one === server ? figures : theirs);
      if (one === server) ours.push(...rows);
    }
  }
  print('\n## Beside the reference\n');
  print(comparison({ name: 'Kubernetes', figures: theirs }, { name: 'Gantry', figures }).join('\n'));
  judgeAll(ours);
}

function judgeAll(rows: readonly Row[]): void {
  const lines = rows.flatMap(verdictsOf);
  if (lines.length > 0) print(`\n${lines.join('\n')}`);
}

/** Prints the rows, and adds their figures to `into`. */
async function stepsOf(server: MeasuredServer, wanted: ReadonlySet<string>, into: Figure[]): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const onRow = (row: Row) => {
    print(lineOf(row));
    rows.push(row);
  };
  const onFailure = (endpoint: string, error: unknown) => {
    print(`| not finished: ${String(error)} | ${endpoint} |`);
    process.exitCode = 1;
  };
  const endpoints = new Set(options.endpoints);
  await measureSpeed(server, { endpoints, steps: wanted, rounds: options.rounds ?? 1, onRow, onFailure });
  into.push(...rows.flatMap(figuresOf));
  return rows;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
