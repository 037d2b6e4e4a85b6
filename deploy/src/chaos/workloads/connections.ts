import { Agent } from 'node:http';
import { pause } from '@gantry/base';
import { type Deployment, DEPLOYMENTS, type Service, SERVICES } from '@gantry/objects';
import { ask, reachable, serverTemplate } from './pod-server.ts';
import { RecordedClient } from './recorded-client.ts';
import { failureOf } from './tally.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const NAME = 'served';
const REPLICAS = 3;
const EVERY_MS = 50;
const REQUEST_MS = 5_000;
const ROLL_EVERY_MS = 20_000;
/** Long enough that requests would reach a pod before it is ready, if something sent them there. */
const WARM_UP_MS = 3_000;
const TURN = 'gantry.chaos/turn';
/** Two open a connection for each request; the third one keeps its connection. */
const CLIENTS = ['new', 'new', 'kept-alive'] as const;

/** A Service whose pods are replaced, under requests all the time. */
export const CONNECTION_WORKLOAD: Workload = {
  name: 'connections',
  pods: 'needed',
  what: 'Three clients send requests to a Service all the time while its pods are replaced; gaps, refused and reset connections are counted, and in calm there are none.',
  start: startConnections,
};

async function startConnections(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const { namespace, untilRight } = context;
  await context.create(DEPLOYMENTS, deployment(context));
  const { spec } = await context.create(SERVICES, service(namespace));
  const url = `http://${spec?.clusterIP}/`;
  await reachable(context, 'connections', async () => await Promise.resolve(url));
  const rolling = new RecordedClient(context, 'connections-rollouts');
  const working = [
    ...CLIENTS.map((kind, index) => work(context, { kind, url, name: `connections-${index}` }, stop)),
    roll(context, rolling, stop),
  ];
  return {
    finish: async () => {
      await Promise.all(working);
      // The same end in each run, so that the end states can be compared.
      const wrong = await untilRight(async (signal) => {
        const { metadata, status } = await rolling.api.patch(
          DEPLOYMENTS,
          { namespace, name: NAME },
          turned('end'),
          signal,
        );
        const counts = [status?.replicas, status?.updatedReplicas, status?.availableReplicas];
        const isDone =
          status?.observedGeneration === metadata.generation && counts.every((count) => count === REPLICAS);
        return isDone
          ? []
          : [`${NAME} has ${counts.join(', ')} replicas there, updated and available, not ${REPLICAS}`];
      });
      // The checker knows when there was calm, and judges the requests (I34).
      return wrong;
    },
  };
}

interface Client {
  readonly kind: (typeof CLIENTS)[number];
  readonly url: string;
  readonly name: string;
}

async function work({ clock, namespace, folder, tally }: WorkloadContext, client: Client, stop: AbortSignal) {
  const agent = client.kind === 'new' ? undefined : new Agent({ keepAlive: true, maxSockets: 1 });
  const key = `${namespace}/${NAME}`;
  let lastMs = clock.monotonicMs();
  while (!stop.aborted) {
    try {
      const said = await ask(client.url, { timeoutMs: REQUEST_MS, ...(agent === undefined ? {} : { agent }) });
      const [value = '', isNever] = said.split(' ');
      const readiness = isNever === undefined ? {} : ({ readiness: 'never' } as const);
      const atMs = folder.client(client.name, { observe: 'served', key, value, ...readiness });
      tally.serve(atMs - lastMs);
      lastMs = atMs;
    } catch (error) {
      const failure = failureOf(error);
      folder.client(client.name, { observe: 'refused', key, value: failure });
      tally.fail(failure);
    }
    await pause(clock, EVERY_MS, stop);
  }
  agent?.destroy();
}

async function roll({ clock, namespace }: WorkloadContext, client: RecordedClient, stop: AbortSignal): Promise<void> {
  const key = { namespace, name: NAME };
  for (let turn = 1; ; turn++) {
    await pause(clock, ROLL_EVERY_MS, stop);
    if (stop.aborted) return;
    await client.send({ verb: 'patch', resource: DEPLOYMENTS, key }, (signal) =>
      client.api.patch(DEPLOYMENTS, key, turned(String(turn)), signal),
    );
  }
}

const turned = (turn: string) => ({ merge: { spec: { template: { metadata: { annotations: { [TURN]: turn } } } } } });

function deployment({ namespace, serviceImage }: WorkloadContext): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: NAME, namespace },
    spec: {
      replicas: REPLICAS,
      // How many ReplicaSets of former revisions there are differs between runs.
      revisionHistoryLimit: 0,
      selector: { matchLabels: { app: NAME } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: serverTemplate(serviceImage, NAME, { warmUpMs: WARM_UP_MS }),
    },
  };
}

function service(namespace: string): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: NAME, namespace },
    spec: { selector: { app: NAME }, ports: [{ port: 80, targetPort: 8080 }] },
  };
}
