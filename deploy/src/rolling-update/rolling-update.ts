import Docker from 'dockerode';
import { LEASES, NODES, RETURNS_BY_ANNOTATION } from '@gantry/objects';
import { type Clock, errorMessage, formatTime, withDeadline } from '@gantry/base';
import { type HttpClient, ignoreNotFound } from '@gantry/client';
import { CHAOS_SERVICE, type Project } from '../cluster/compose.ts';
import { healthCommand } from '../cluster/health-checks.ts';
import { type Look, waitUntil } from '../cluster/wait-until.ts';
import { findRunningAgents } from '../cluster/running-agents.ts';
import { isNodeOf, lookAtApi, lookAtNodes } from '../cluster/readiness.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import { drainBalancer, holdConnections, publishedPorts, untilConnected } from './connection-hold.ts';
import {
  type Definition,
  findLeftovers,
  isOutdated,
  modelNameOf,
  nameOf,
  planUpdate,
  type Replacement,
  type Replica,
  type ServiceUpdate,
} from './plan.ts';
import { createSuccessor } from './successor.ts';

export interface RollingUpdate {
  readonly clusterId: string;
  /** The range of the pods of this engine. */
  readonly podCidr: string;
  readonly project: Project;
  readonly shell: Shell;
  readonly clock: Clock;
  readonly api: HttpClient;
  /** Shows what is being done. */
  readonly note: (text: string) => void;
}

const LABEL = 'com.docker.compose';
/** The certificate job. */
const JOB = 'pki';
const POLL_MS = 100;
/** For one container to become healthy: a busy machine takes minutes for what otherwise takes seconds. */
const LIMIT_MS = 300_000;
/** For one question to the API: what does not answer a busy machine in time counts as not ready, and then nothing is kept available. */
const API_MS = 15_000;
/** A new container that ended this often does not become healthy. */
const FAILING_RESTARTS = 3;
/** Of a container that does not become healthy. */
const LOG_LINES = 20;

/**
 * Replaces the running containers of a cluster whose definition or image has changed, one after the other, each when the one before is
 * healthy. Containers that do not run are left to `Project.up`. Without an API that is ready nothing is replaced, for there is nothing to
 * keep available: `Project.up` does that, or the caller tries again. Throws CommandError for a container that does not become healthy; those
 * after it are as before, and the next call goes on with them.
 */
export async function rollingUpdate(update: RollingUpdate): Promise<Look<void>> {
  const { clusterId, project, note, api, clock } = update;
  const engine = await openEngine(update.shell);
  const definitions = await readDefinitions(update);
  const leftovers = findLeftovers(clusterId, await listReplicas(engine, clusterId), definitions);
  for (const { id } of leftovers.remove) await engine.getContainer(id).remove({ force: true, v: true });
  for (const replica of leftovers.rename) {
    await engine.getContainer(replica.id).rename({ name: nameOf(clusterId, replica) });
  }
  // A job that Compose replaces makes it replace all services that depend on it, at the same time.
  if (isOutdated(JOB, await listReplicas(engine, clusterId), definitions)) {
    await project.compose(['up', '-d', '--no-build', '--no-deps', JOB], (line) => note(line.trim()));
    await untilEnded(engine, clusterId, JOB);
  }
  const replicas = await listReplicas(engine, clusterId);
  if (planUpdate(replicas, definitions).length === 0) {
    note('nothing to replace');
    return { done: true, value: undefined };
  }
  const limit = () => withDeadline(clock, new AbortController().signal, API_MS);
  using lookLimit = limit();
  const look = await lookAtApi(api, lookLimit);
  if (!look.done) {
    note(`all containers at once, since the API is not ready (${look.missing})`);
    return look;
  }
  using listLimit = limit();
  const plan = planUpdate(replicas, definitions, {
    leaders: await findLeaders(api, replicas, listLimit),
    unhealthy: await unhealthyMembers(update, engine, replicas),
  });
  for (const service of plan) await updateService(update, engine, service);
  note(`${plan.reduce((sum, { replacements }) => sum + replacements.length, 0)} containers replaced`);
  return { done: true, value: undefined };
}

/** The engine of the `docker` command. */
async function openEngine(shell: Shell): Promise<Docker> {
  const host = (await mustRun(shell, 'docker', ['context', 'inspect', '-f', '{{.Endpoints.docker.Host}}'])).trim();
  return host.startsWith('unix://') ? new Docker({ socketPath: host.slice('unix://'.length) }) : new Docker();
}

async function listReplicas(engine: Docker, clusterId: string): Promise<readonly Replica[]> {
  const label = [`${LABEL}.project=${clusterId}`, `${LABEL}.oneoff=False`];
  const containers = await engine.listContainers({ all: true, filters: { label } });
  const own = containers.filter(({ Labels }) => Labels[`${LABEL}.service`] !== CHAOS_SERVICE);
  return own.map(({ Id, Names, Labels, State, ImageID }) => ({
    id: Id,
    name: Names[0]?.slice(1) ?? '',
    service: Labels[`${LABEL}.service`] ?? '',
    number: Number(Labels[`${LABEL}.container-number`]),
    state: State,
    hash: Labels[`${LABEL}.config-hash`] ?? '',
    imageId: ImageID,
  }));
}

/** Those of all services, and of the certificate job. */
async function readDefinitions({ project, shell }: RollingUpdate): Promise<readonly Definition[]> {
  const [hashes, composed] = await Promise.all([
    project.compose(['config', '--hash', '*']),
    project.compose(['config', '--format', 'json']),
  ]);
  const { services } = JSON.parse(composed) as {
    readonly services: Readonly<Record<string, { readonly image?: string }>>;
  };
  const imageId = async (image: string) => {
    const { code, stdout } = await shell.run('docker', ['image', 'inspect', '-f', '{{.Id}}', image]);
    return code === 0 ? stdout.trim() : undefined;
  };
  const images = new Map<string, Promise<string | undefined>>();
  for (const { image = '' } of Object.values(services)) images.set(image, images.get(image) ?? imageId(image));
  const lines = hashes.split('\n').flatMap((line) => {
    const [service = '', hash = ''] = line.split(' ');
    return service === '' ? [] : [{ service, hash }];
  });
  return await Promise.all(
    lines.map(async ({ service, hash }) => ({
      service,
      hash,
      imageId: await images.get(services[service]?.image ?? ''),
    })),
  );
}

/** The ids of containers whose processes lead. The identity of a process begins with its container's id. */
async function findLeaders(
  api: HttpClient,
  replicas: readonly Replica[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { items } = await api.list(LEASES, { namespace: 'kube-system' }, signal);
  const holders = items.map(({ spec }) => spec?.holderIdentity ?? '');
  const leading = replicas.filter(({ id }) => holders.some((holder) => holder.includes(id.slice(0, 12))));
  return new Set(leading.map(({ id }) => id));
}

async function untilEnded(engine: Docker, clusterId: string, service: string): Promise<void> {
  const job = (await listReplicas(engine, clusterId)).find((replica) => replica.service === service);
  if (job === undefined) throw new CommandError(`docker compose up has made no container of ${service}`);
  const { StatusCode: code } = (await engine.getContainer(job.id).wait()) as { readonly StatusCode: number };
  if (code !== 0) throw new CommandError(`${job.name} ended with ${code}`, `look at: docker logs ${job.name}`);
}

async function updateService(update: RollingUpdate, engine: Docker, service: ServiceUpdate): Promise<void> {
  if (service.how === 'whole') return await updateWhole(update, engine, service);
  const model = await createModel(update, engine, service.service);
  try {
    for (const replacement of service.replacements)
      await replace(update, engine, { model, replacement, how: service.how });
  } finally {
    await engine.getContainer(model).remove({ force: true, v: true });
  }
}

/** Compose replaces the only container of a service. */
async function updateWhole(update: RollingUpdate, engine: Docker, { service }: ServiceUpdate): Promise<void> {
  const { clusterId, project, note } = update;
  note(service);
  if (service.startsWith('etcd-')) await requireOtherMembers(update, engine, service);
  // With `--no-deps`, Compose would compute another hash. So it may not start anything: it would run the certificate job for each service.
  await project.compose(['up', '--no-start', '--no-build', service], (line) => note(line.trim()));
  const replaced = (await listReplicas(engine, clusterId)).filter((replica) => replica.service === service);
  for (const { id, name } of replaced) {
    await engine.getContainer(id).start();
    await untilHealthy(update, engine, id, name);
  }
}

/** Ids of members of etcd that do not respond. */
async function unhealthyMembers(
  { shell }: RollingUpdate,
  engine: Docker,
  replicas: readonly Replica[],
): Promise<ReadonlySet<string>> {
  const members = replicas.filter(({ service }) => service.startsWith('etcd-'));
  const found = members.map(async ({ id }) => ((await missingHealth(shell, engine, id)) === undefined ? [] : [id]));
  return new Set((await Promise.all(found)).flat());
}

/** A member is replaced only while all others respond. */
async function requireOtherMembers(update: RollingUpdate, engine: Docker, service: string): Promise<void> {
  const replicas = await listReplicas(engine, update.clusterId);
  const unhealthy = await unhealthyMembers(update, engine, replicas);
  const other = replicas.find((replica) => unhealthy.has(replica.id) && replica.service !== service);
  if (other === undefined) return;
  throw new CommandError(
    `${service} is not replaced while ${other.service} does not respond: the cluster could lose its quorum`,
    'look at: npm run etcd -- status',
  );
}

/** Lets Compose make a container of the present definition that never starts. */
async function createModel(
  { clusterId, project, note }: RollingUpdate,
  engine: Docker,
  service: string,
): Promise<string> {
  const before = (await listReplicas(engine, clusterId)).filter((replica) => replica.service === service);
  const options = ['--no-start', '--no-build', '--no-recreate', '--scale', `${service}=${before.length + 1}`];
  await project.compose(['up', ...options, service], (line) => note(line.trim()));
  const model = (await listReplicas(engine, clusterId)).find(
    (one) => one.service === service && !before.some(({ id }) => id === one.id),
  );
  if (model === undefined) throw new CommandError(`docker compose up --no-start has made no container of ${service}`);
  await engine.getContainer(model.id).rename({ name: modelNameOf(clusterId, service) });
  return model.id;
}

async function replace(
  update: RollingUpdate,
  engine: Docker,
  {
    model,
    replacement,
    how,
  }: { readonly model: string; readonly replacement: Replacement; readonly how: ServiceUpdate['how'] },
): Promise<void> {
  const { clusterId, note } = update;
  const { outdated, successor } = replacement;
  const name = nameOf(clusterId, outdated);
  const id = successor?.id ?? (await createSuccessor(engine, model, outdated));
  const old = engine.getContainer(outdated.id);
  const next = engine.getContainer(id);
  const removeOld = async () => {
    // Its anonymous volumes are the successor's.
    await old.remove();
    await next.rename({ name });
  };
  note(name);
  if (how === 'overlapping') {
    if (successor === undefined) await next.start();
    try {
      await untilHealthy(update, engine, id, name);
    } catch (error) {
      await next.remove({ force: true });
      throw error;
    }
    await old.stop();
    await removeOld();
    return;
  }
  if (how === 'held') {
    await replaceHeld(update, engine, outdated, successor === undefined ? next : undefined);
    await removeOld();
    await untilHealthy(update, engine, id, name);
    return;
  }
  const returned = await announceAbsence(update, name);
  if (successor === undefined) {
    await old.stop();
    await next.start();
  }
  await removeOld();
  await untilHealthy(update, engine, id, name);
  await untilRegistered(update, name);
  await returned();
}

/** Stops a load balancer and starts the next one, if it does not run yet. Connections that are opened meanwhile wait for it. */
async function replaceHeld(
  update: RollingUpdate,
  engine: Docker,
  outdated: Replica,
  next: Docker.Container | undefined,
): Promise<void> {
  const old = engine.getContainer(outdated.id);
  const ports = publishedPorts(await old.inspect());
  await using _ = await holdConnections(update, ports);
  if (outdated.service === 'load-balancer') {
    const servers = (await listReplicas(engine, update.clusterId)).filter(
      ({ service, state }) => service === 'apiserver' && state === 'running',
    );
    await drainBalancer(
      update,
      outdated.id,
      servers.map(({ id }) => id),
      ports,
    );
  }
  await old.stop();
  if (next === undefined) return;
  await next.start();
  await untilConnected(update, next.id, ports);
}

/**
 * Lets the node of an agent be silent while the agent is replaced: on a busy machine that takes longer than a node may be silent, and its
 * pods would move. The function returned ends that; without it, it ends by itself. The update goes on without it, too.
 */
async function announceAbsence(update: RollingUpdate, name: string): Promise<() => Promise<void>> {
  const attempt = async <T>(work: () => Promise<T>, instead: T): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      update.note(`${name}: cannot change what its node says of its absence (${errorMessage(error)})`);
      return instead;
    }
  };
  const annotate = await attempt(() => absenceOf(update, name), undefined);
  if (annotate === undefined) return async () => undefined;
  await attempt(() => annotate(formatTime(update.clock.now() + LIMIT_MS)), undefined);
  return () => attempt(() => annotate(null), undefined);
}

/** Writes until when the agent's node may be silent; null: no longer. Undefined for an agent without a node. */
async function absenceOf(
  { api, clock, clusterId, podCidr, shell }: RollingUpdate,
  name: string,
): Promise<((returnsBy: string | null) => Promise<void>) | undefined> {
  using deadline = withDeadline(clock, new AbortController().signal, API_MS);
  const agent = (await findRunningAgents(shell, clusterId)).find((one) => one.name === name);
  const { items } = await api.list(NODES, {}, deadline);
  const node = agent === undefined ? undefined : items.find((one) => isNodeOf(one, agent, podCidr));
  if (node === undefined) return undefined;
  return async (returnsBy) => {
    const { uid, name: nodeName = '' } = node.metadata;
    const merge = { metadata: { uid, annotations: { [RETURNS_BY_ANNOTATION]: returnsBy } } };
    using limit = withDeadline(clock, new AbortController().signal, API_MS);
    await ignoreNotFound(api.patch(NODES, { namespace: '', name: nodeName }, { merge }, limit));
  };
}

/** Until the container's health check succeeds, which is asked here: the engine asks every 30 s. */
async function untilHealthy(
  { clock, note, shell }: RollingUpdate,
  engine: Docker,
  id: string,
  name: string,
): Promise<void> {
  const look = async (): Promise<Look<undefined>> => {
    const { RestartCount } = await engine.getContainer(id).inspect();
    if (RestartCount >= FAILING_RESTARTS) throw new CommandError(`${name} ends at each start`);
    const missing = await missingHealth(shell, engine, id);
    return missing === undefined ? { done: true, value: undefined } : { done: false, missing };
  };
  const wait = { clock, what: name, timeoutMs: LIMIT_MS, everyMs: POLL_MS };
  try {
    await waitUntil(wait, look, (missing) => note(`${name}: ${missing}`));
  } catch (error) {
    const { stdout, stderr } = await shell.run('docker', ['logs', '--tail', String(LOG_LINES), id]);
    throw new CommandError(
      `${errorMessage(error)}. Its last lines:\n${`${stdout}${stderr}`.trim()}`,
      'those that are not replaced yet are as before; `npm run up` goes on with them',
    );
  }
}

/** What a container lacks to be healthy, or undefined. Its own check says so; without one it has to run. */
async function missingHealth(shell: Shell, engine: Docker, id: string): Promise<string | undefined> {
  const { State, Config } = await engine.getContainer(id).inspect();
  if (State.Status !== 'running') return State.Status;
  const command = healthCommand(Config.Healthcheck?.Test);
  if (command === undefined) return undefined;
  const { code } = await shell.run('docker', ['exec', id, ...command]);
  return code === 0 ? undefined : 'not ready yet';
}

/** Until the node of an agent is Ready and its Lease was renewed by the agent's new container. */
async function untilRegistered(
  { api, clock, clusterId, note, podCidr, shell }: RollingUpdate,
  name: string,
): Promise<void> {
  const agents = async () => (await findRunningAgents(shell, clusterId)).filter((agent) => agent.name === name);
  const wait = { clock, what: `the node of ${name}`, timeoutMs: LIMIT_MS, everyMs: POLL_MS };
  await waitUntil(wait, (signal) => lookAtNodes(api, { count: 1, podCidr, agents }, signal), note);
}
