import { pause } from '@gantry/base';
import { type HttpClient, ignoreNotFound } from '@gantry/client';
import {
  type Deployment,
  DEPLOYMENTS,
  type Ingress,
  INGRESSES,
  type KubeObject,
  type Resource,
  type Service,
  SERVICES,
} from '@gantry/objects';
import { CommandError } from '../../machine/command-error.ts';
import type { ChaosContainer } from '../engine.ts';
import { ask, serverTemplate } from '../workloads/pod-server.ts';
import { untilRight } from '../workloads/until-right.ts';
import { type ActContext, READY_MS, untilFound, type Watching, within } from './act.ts';

const CLIENTS = 4;
const ASK_EVERY_MS = 50;
/** A client gives up a request, because packets may be lost. A busy machine may take a second for one. */
const ASK_MS = 3_000;
/** Of a Service without rules: each attempt needs a connection of its own, since the kernel keeps to what it decided for the first packet. */
const ASK_NEW_MS = 1_000;
/** So long no client may fail after the container was started again: what starts may also break what had stayed. */
const QUIET_MS = 10_000;
const LOOK_EVERY_MS = 200;
const SERVICE_EVERY_MS = 250;
/** Each costs the proxy rules. */
const MOST_SERVICES = 60;

/** A request by a new connection, in Unix milliseconds. */
interface Asked {
  readonly sentAt: number;
  readonly doneAt: number;
  readonly isAnswered: boolean;
}

/**
 * When each client was answered again: of what it sent after the fault, its first answer after its last failure. So a component is not taken
 * for back because it worked on for a moment, and a gap that comes later counts. Undefined while a client has no such answer.
 */
export function answeredAgainAt(clients: readonly (readonly Asked[])[], struckAt: number): number | undefined {
  const all = clients.map((asked) => {
    const failedAt = asked.findLast(({ isAnswered, doneAt }) => !isAnswered && doneAt >= struckAt)?.doneAt ?? struckAt;
    return asked.find(({ sentAt, isAnswered }) => isAnswered && sentAt >= failedAt)?.doneAt;
  });
  return all.includes(undefined) ? undefined : Math.max(...all.filter((at) => at !== undefined));
}

/** New connections to the address of a Service that was there before the fault. */
export async function watchConnections(context: ActContext): Promise<Watching> {
  const server = await startServer(context);
  return await watchAnswers(context, server, { url: server.url });
}

/** Requests through an Ingress, each by a new connection. */
export async function watchIngress(context: ActContext): Promise<Watching> {
  const { namespace, name, ingressPort } = context;
  const server = await startServer(context);
  const host = `${name}.chaos.example`;
  const backend = { service: { name, port: { number: 80 } } };
  const ingress: Ingress = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { namespace, name },
    spec: { rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }] },
  };
  await server.create(INGRESSES, ingress);
  const reach = { url: `http://127.0.0.1:${ingressPort}/`, host };
  await untilAnswers(context, reach);
  return await watchAnswers(context, server, reach);
}

/** A Service that is made after the fault, and whose address answers when the container runs again. */
export async function watchNewServices(context: ActContext): Promise<Watching> {
  const { clock, namespace, name } = context;
  const server = await startServer(context);
  const before = await struckContainer(context);
  const stop = new AbortController();
  const services: { readonly askedAt: number; answeredAt?: number }[] = [];
  const probing: Promise<void>[] = [];
  const making = (async () => {
    while (!stop.signal.aborted && services.length < MOST_SERVICES) {
      const made: (typeof services)[number] = { askedAt: clock.now() };
      const { spec } = await server.create(
        SERVICES,
        serviceOf({ namespace, name: `${name}-${services.length}` }, name),
      );
      services.push(made);
      const reach = { url: `http://${spec?.clusterIP}/`, timeoutMs: ASK_NEW_MS };
      const asking = askUntil(context, reach, stop.signal, ({ isAnswered, doneAt }) => {
        if (isAnswered) made.answeredAt = doneAt;
        return isAnswered;
      });
      probing.push(asking);
      await pause(clock, SERVICE_EVERY_MS, stop.signal);
    }
  })();
  const failed = making.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  return {
    seen: async (struckAt, signal) => {
      const restartedAt = await untilRestarted(context, before, signal);
      const find = () => {
        const times = services
          .filter(({ askedAt }) => askedAt >= struckAt)
          .flatMap(({ answeredAt }) => answeredAt ?? []);
        const after = times.filter((at) => at >= restartedAt);
        return after.length === 0 ? undefined : Math.min(...after);
      };
      return await Promise.race([failed, untilFound(clock, signal, find)]);
    },
    end: async () => {
      stop.abort();
      await making.catch(() => undefined);
      await Promise.all(probing);
      await server.end();
    },
  };
}

interface Reach {
  readonly url: string;
  /** The header, if it is not that of the URL. */
  readonly host?: string;
  /** `ASK_MS` if absent. */
  readonly timeoutMs?: number;
}

/** Clients ask all the time. The act is done when all of them are answered again, and go on to be. */
async function watchAnswers(context: ActContext, server: Server, reach: Reach): Promise<Watching> {
  const { clock } = context;
  const before = await struckContainer(context);
  const stop = new AbortController();
  const clients = Array.from({ length: CLIENTS }, (): Asked[] => []);
  const asking = clients.map((asked) =>
    askUntil(context, reach, stop.signal, (one) => {
      asked.push(one);
      return false;
    }),
  );
  return {
    seen: async (struckAt, signal) => {
      const restartedAt = await untilRestarted(context, before, signal);
      return await untilFound(clock, signal, () => {
        const at = answeredAgainAt(clients, struckAt);
        return at !== undefined && clock.now() - Math.max(at, restartedAt) >= QUIET_MS ? at : undefined;
      });
    },
    end: async () => {
      stop.abort();
      await Promise.all(asking);
      await server.end();
    },
  };
}

/** Asks again and again, each time by a new connection, until `take` returns true for a result. */
async function askUntil(
  { clock }: ActContext,
  { url, ...options }: Reach,
  stop: AbortSignal,
  take: (asked: Asked) => boolean,
): Promise<void> {
  while (!stop.aborted) {
    const sentAt = clock.now();
    const isAnswered = await ask(url, { timeoutMs: ASK_MS, ...options }).then(
      () => true,
      () => false,
    );
    if (take({ sentAt, doneAt: clock.now(), isAnswered })) return;
    await pause(clock, ASK_EVERY_MS, stop);
  }
}

/** The container that the trial strikes. */
async function struckContainer({ engine, cell }: ActContext): Promise<ChaosContainer> {
  return await engine.one(cell.target, () => 0);
}

/** When the container was seen to run as another process. */
async function untilRestarted({ engine, clock }: ActContext, before: ChaosContainer, signal: AbortSignal) {
  for (;;) {
    const now = await engine.own(before.id);
    if (now !== undefined && now.pid !== 0 && now.pid !== before.pid) return clock.now();
    signal.throwIfAborted();
    await pause(clock, LOOK_EVERY_MS, signal);
  }
}

/** A pod that responds, and what a trial makes for it. */
interface Server {
  /** By the address of its Service. */
  readonly url: string;
  create<T extends KubeObject>(resource: Resource<T>, object: T): Promise<T>;
  /** Removes what was made. */
  end(): Promise<void>;
}

async function startServer(context: ActContext): Promise<Server> {
  const { connect, namespace, name, podImage } = context;
  const api: HttpClient = connect();
  const made: { readonly resource: Resource; readonly name: string }[] = [];
  const create: Server['create'] = async (resource, object) => {
    made.push({ resource, name: object.metadata.name ?? '' });
    return await api.create(resource, object, within());
  };
  const key = { namespace, name };
  const deployment: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...key },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: serverTemplate(await podImage(), name),
    },
  };
  await create(DEPLOYMENTS, deployment);
  const { spec } = await create(SERVICES, serviceOf(key, name));
  const url = `http://${spec?.clusterIP}/`;
  await untilAnswers(context, { url });
  const end = async () => {
    for (const one of made) await ignoreNotFound(api.delete(one.resource, { namespace, name: one.name }, {}, within()));
    api[Symbol.dispose]();
  };
  return { url, create, end };
}

function serviceOf(key: { readonly namespace: string; readonly name: string }, app: string): Service {
  const spec: Service['spec'] = { selector: { app }, ports: [{ port: 80, targetPort: 8080 }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: { ...key }, spec };
}

/** Before the fault. Throws CommandError after two minutes. */
async function untilAnswers({ clock }: ActContext, { url, ...options }: Reach): Promise<void> {
  const look = async () => {
    await ask(url, { timeoutMs: ASK_MS, ...options });
    return [];
  };
  const wrong = await untilRight(clock, look, { limitMs: READY_MS });
  if (wrong.length === 0) return;
  const fix = 'this machine must reach Services and Ingresses; choose other cells with --only';
  throw new CommandError(`${url} does not answer before the fault: ${wrong.join('; ')}`, fix);
}
