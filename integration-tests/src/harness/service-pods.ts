import { type ContainerPort, type Pod, PODS } from '@gantry/objects';
import { type Cluster, isReady } from './cluster.ts';
import { eventually } from './eventually.ts';

/** Answers HTTP on 8080 and UDP on 9053 with its name and the client's address. It serves on for some seconds when it is to stop. */
const SERVER = `
const name = require('os').hostname();
require('http').createServer((request, response) => response.end(name + ' ' + request.socket.remoteAddress)).listen(8080, '0.0.0.0');
const udp = require('dgram').createSocket('udp4');
udp.on('message', (_, from) => udp.send(name + ' ' + from.address, from.port, from.address)).bind(9053);
process.on('SIGTERM', () => setTimeout(() => process.exit(0), Number(process.env.LINGER_MS)));
`;

/** For an answer that must come: longer than a busy machine takes. */
export const ANSWER_MS = 60_000;

/** Sends requests one after another, each on a connection of its own; prints answers, or error codes. */
const CLIENT = `
const [target, times, timeoutMs] = process.argv.slice(1);
const http = require('http');
const ask = () => new Promise((resolve) => {
  const request = http.get(target, { agent: false, timeout: Number(timeoutMs) }, (response) => {
    let text = '';
    response.on('data', (part) => (text += part)).on('end', () => resolve(text));
  });
  request.on('timeout', () => request.destroy(Object.assign(new Error(), { code: 'TIMEOUT' })));
  request.on('error', ({ code }) => resolve(code));
});
(async () => { for (let i = 0; i < Number(times); i++) console.log(await ask()); })();
`;

const UDP_CLIENT = `
const [address, port, localPort, timeoutMs] = process.argv.slice(1);
const socket = require('dgram').createSocket('udp4');
socket.on('message', (text) => { console.log(String(text)); socket.close(); process.exit(); });
socket.bind(Number(localPort), () => socket.send('x', Number(port), address));
setTimeout(() => { console.log('TIMEOUT'); process.exit(); }, Number(timeoutMs));
`;

const READY_MS = 120_000;

/** Servers and clients of Services, from the image of the cluster's own services, which has Node.js. */
export class ServicePods {
  readonly #cluster: Cluster;
  readonly #namespace: string;

  constructor(cluster: Cluster, namespace: string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
  }

  /** The container of a server's pod. */
  async serverSpec(lingerMs = 3000): Promise<NonNullable<Pod['spec']>> {
    return {
      terminationGracePeriodSeconds: 30,
      containers: [
        {
          name: 'main',
          image: await this.#cluster.serviceImage(),
          command: ['node', '-e', SERVER],
          env: [{ name: 'LINGER_MS', value: String(lingerMs) }],
          ports: [{ name: 'web', containerPort: 8080 }],
          readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
        },
      ],
    };
  }

  /** Creates a server on a node and waits until it is ready. */
  async server(name: string, nodeName: string, lingerMs?: number, spec?: Pod['spec']): Promise<void> {
    await this.#cluster.create(PODS, this.#namespace, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app: name } },
      spec: { ...(spec ?? (await this.serverSpec(lingerMs))), nodeName },
    });
  }

  /** Creates a server with host ports on a node. */
  async exposedServer(name: string, nodeName: string, ...ports: readonly ContainerPort[]): Promise<void> {
    const spec = await this.serverSpec(0);
    const containers = spec.containers.map((one) => ({ ...one, ports: [...ports] }));
    await this.server(name, nodeName, 0, { ...spec, containers });
  }

  async untilReady(name: string): Promise<void> {
    await eventually(`${name} is ready`, READY_MS, async () =>
      isReady(await this.#cluster.get(PODS, this.#namespace, name)),
    );
  }

  /** What a pod is answered, request by request. */
  async ask(pod: string, target: string, times = 1, timeoutMs = 3000): Promise<readonly string[]> {
    const text = await this.run(pod, CLIENT, [`http://${target}/`, String(times), String(timeoutMs)]);
    return text.split('\n');
  }

  askUdp(pod: string, address: string, port: number, localPort: number, timeoutMs = 2000): Promise<string> {
    return this.run(pod, UDP_CLIENT, [address, String(port), String(localPort), String(timeoutMs)]);
  }

  /** The output of a script in a pod. */
  async run(pod: string, script: string, args: readonly string[]): Promise<string> {
    return await this.#cluster.docker(['exec', await this.container(pod), 'node', '-e', script, '--', ...args]);
  }

  /** The engine's id of a pod's container. */
  async container(pod: string): Promise<string> {
    const labels = ['container.name=main', `pod.name=${pod}`, `pod.namespace=${this.#namespace}`];
    const [id] = await this.#cluster.podContainers(labels.map((label) => `label=io.kubernetes.${label}`));
    if (id === undefined) throw new Error(`${pod} does not run`);
    return id;
  }
}
