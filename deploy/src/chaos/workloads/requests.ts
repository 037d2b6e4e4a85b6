import { pause, type Random } from '@gantry/base';
import { type ConfigMap, CONFIG_MAPS, type KubeObject } from '@gantry/objects';
import { type Outcome, RecordedClient, type Request } from './recorded-client.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

/** Requests a second of one client, which sends one at a time: it keeps up as long as a request takes less than half a second. */
const EACH = 2;
/** Objects that a client has at most. */
const OBJECTS = 4;
/** As client-go repeats a request at most, with waits that double from the first to the last one. */
const REPEATS = 10;
const [FIRST_WAIT_MS, LAST_WAIT_MS] = [100, 10_000];
const OWN = 'gantry.chaos/requests';
const PADDING = 'x'.repeat(200);

const valueOf = (object: KubeObject) => (object as ConfigMap).data?.['value'];

/** A load that does not become lighter when the cluster becomes slow. */
export const REQUEST_WORKLOAD: Workload = {
  name: 'requests',
  what: 'Clients send mixed requests at a fixed rate (`--rate`), each due at its time whether the one before has its response or not, and repeat those without a known outcome; no acknowledged write is lost.',
  start: startRequests,
};

async function startRequests(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const { clock, rate } = context;
  const count = Math.ceil(rate / EACH);
  const clients = Array.from({ length: count }, (_, index) => new PacedClient(context, `requests-${index}`));
  const everyMs = (count * 1000) / rate;
  const firstMs = clock.monotonicMs();
  const working = clients.map((client, index) => client.work(firstMs + (index * 1000) / rate, everyMs, stop));
  return await Promise.resolve({
    finish: async () => {
      await Promise.all(working);
      const wrong = [...clients.flatMap((client) => client.wrong), ...(await judge(context, clients))];
      return [...wrong, ...(await empty(context))];
    },
  });
}

type Work = (signal: AbortSignal) => Promise<KubeObject>;
type Act = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete';

/** Half of the requests read. */
const ACTS: readonly Act[] = ['get', 'get', 'get', 'get', 'list', 'update', 'update', 'patch', 'create', 'delete'];

/** What a request and its repetitions came to: the outcome of the last attempt. */
type Sent = Outcome & {
  /** `op` of the first attempt. */
  readonly first: string;
  readonly attempts: number;
  /** Whether any attempt had no response. */
  readonly lost: boolean;
};

/** One of the clients, and the ConfigMaps that it alone writes. */
class PacedClient {
  /** Refusals that no fault explains, and outcomes that do not fit what was sent. */
  readonly wrong: string[] = [];
  /** As acknowledged last, by name. */
  readonly present = new Map<string, ConfigMap>();
  /** Objects with a write whose outcome stayed unknown. */
  readonly unsure = new Set<string>();
  readonly #context: WorkloadContext;
  readonly #client: RecordedClient;
  /** Nothing is waited for any more. */
  readonly #end: AbortSignal;
  #written = 0;

  constructor(context: WorkloadContext, name: string) {
    this.#context = context;
    this.#end = AbortSignal.any([context.interrupted, context.over]);
    this.#client = new RecordedClient(context, name);
  }

  async work(firstMs: number, everyMs: number, stop: AbortSignal): Promise<void> {
    const { clock, random } = this.#context;
    for (let turn = 0; ; turn++) {
      const dueMs = firstMs + turn * everyMs;
      await pause(clock, Math.max(0, dueMs - clock.monotonicMs()), stop);
      if (stop.aborted) return;
      const act = this.#possible(pick(ACTS, random));
      const chosen = pick([...this.present.values()], random);
      if (act === 'list') await this.#list(dueMs);
      else if (act === 'create' || chosen === undefined) await this.#create(dueMs);
      else if (act === 'get') await this.#get(chosen, dueMs);
      else if (act === 'delete') await this.#delete(chosen, dueMs);
      else await this.#change(act, chosen, dueMs);
    }
  }

  #possible(act: Act): Act {
    if (act === 'create' && this.present.size >= OBJECTS) return 'update';
    return act !== 'list' && this.present.size === 0 ? 'create' : act;
  }

  async #list(dueMs: number): Promise<void> {
    const { namespace } = this.#context;
    const { api, name } = this.#client;
    const request = { verb: 'list', resource: CONFIG_MAPS, key: { namespace, name } } as const;
    const work = async (signal: AbortSignal) => {
      const { resourceVersion } = await api.list(CONFIG_MAPS, { namespace, labelSelector: `${OWN}=${name}` }, signal);
      return { apiVersion: 'v1', kind: 'ConfigMapList', metadata: { resourceVersion } };
    };
    await this.#send(() => ({ request, work }), { dueMs });
  }

  async #get({ metadata: { name = '' }, data }: ConfigMap, dueMs: number): Promise<void> {
    const outcome = await this.#send(() => this.#reading(name), { dueMs });
    if (outcome.kind !== 'ok') return;
    const found = outcome.object === undefined ? undefined : valueOf(outcome.object);
    if (found !== data?.['value']) this.wrong.push(`${name} is read as ${found} after ${data?.['value']} was written`);
  }

  async #create(dueMs: number): Promise<void> {
    const { namespace } = this.#context;
    const { api, name: own } = this.#client;
    // A name is used once: a creation that comes late, after all, does not bring a deleted object back.
    const metadata = { namespace, name: `${own}-${this.#written}`, labels: { [OWN]: own } };
    await this.#write({ ...this.#request('create', metadata.name), dueMs }, (value) => {
      const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value, padding: PADDING } };
      return (signal) => api.create(CONFIG_MAPS, object, signal);
    });
  }

  async #change(verb: 'update' | 'patch', object: ConfigMap, dueMs: number): Promise<void> {
    const { api } = this.#client;
    const { name = '', resourceVersion } = object.metadata;
    const request = { ...this.#request(verb, name), resourceVersion, dueMs };
    await this.#write(request, (value) => {
      const changed = { ...object, data: { value, padding: PADDING } };
      const merge = { metadata: { resourceVersion }, data: { value } };
      return (signal) =>
        verb === 'update'
          ? api.update(CONFIG_MAPS, changed, signal)
          : api.patch(CONFIG_MAPS, request.key, { merge }, signal);
    });
  }

  async #delete({ metadata: { name = '', resourceVersion } }: ConfigMap, dueMs: number): Promise<void> {
    const request = { ...this.#request('delete', name), resourceVersion, dueMs };
    await this.#write(
      request,
      () => (signal) => this.#client.api.delete(CONFIG_MAPS, request.key, { resourceVersion }, signal),
    );
  }

  /**
   * All writes are guarded by a version or a new name: a repeated one that was done before is refused, and a read tells. Each attempt
   * writes a value of its own, so that the history tells which one was done.
   */
  async #write({ dueMs, ...request }: Request, workOf: (value: string) => Work): Promise<void> {
    const { name } = request.key;
    const values = new Set<string | undefined>(request.verb === 'delete' ? [undefined] : []);
    const attempt = () => {
      if (request.verb === 'delete') return { request, work: workOf('') };
      const value = `${++this.#written}@${this.#client.name}`;
      values.add(value);
      return { request: { ...request, value }, work: workOf(value) };
    };
    const written = await this.#send(attempt, { ...(dueMs === undefined ? {} : { dueMs }) });
    if (written.kind === 'ok') {
      this.#adopt(name, request.verb === 'delete' ? undefined : written.object);
      return;
    }
    // An attempt without a response may be done later, also when all attempts after it were refused for the load alone.
    if (written.kind === 'unknown' || (isOpen(written) && written.lost)) {
      this.unsure.add(name);
      this.present.delete(name);
      return;
    }
    if (isOpen(written)) return;
    if (written.attempts === 1) this.wrong.push(`${request.verb} of ${name} was refused with ${written.code}`);
    const read = await this.#send(() => this.#reading(name), { repeats: written.first });
    if (read.kind !== 'ok') this.unsure.add(name);
    const found = read.kind === 'ok' ? read.object : undefined;
    this.#adopt(name, found);
    const value = found === undefined ? undefined : valueOf(found);
    if (read.kind === 'ok' && !values.has(value)) {
      this.wrong.push(
        `repeated ${request.verb} of ${name} was refused with ${written.code}, and its value is ${value}`,
      );
    }
  }

  #adopt(name: string, object: KubeObject | undefined): void {
    if (object === undefined) this.present.delete(name);
    else this.present.set(name, object);
  }

  /** Repeats a request until its outcome is known, as client-go does for errors of the server and too many requests. */
  async #send(
    attempt: () => { readonly request: Request; readonly work: Work },
    of: Pick<Request, 'dueMs' | 'repeats'>,
  ): Promise<Sent> {
    const { clock } = this.#context;
    const send = async (place: typeof of) => {
      const { request, work } = attempt();
      return await this.#client.send({ ...request, ...place }, work);
    };
    let outcome = await send(of);
    const first = of.repeats ?? outcome.op;
    let lost = outcome.kind === 'unknown';
    let attempts = 1;
    for (let waitMs = FIRST_WAIT_MS; isOpen(outcome) && attempts <= REPEATS; attempts++) {
      await pause(clock, waitMs, this.#end);
      if (this.#end.aborted) break;
      waitMs = Math.min(2 * waitMs, LAST_WAIT_MS);
      outcome = await send({ repeats: first });
      lost ||= outcome.kind === 'unknown';
    }
    return { ...outcome, first, attempts, lost };
  }

  #request<V extends Request['verb']>(verb: V, name: string) {
    const key = { namespace: this.#context.namespace, name };
    return { verb, resource: CONFIG_MAPS, key, readValue: valueOf } as const;
  }

  #reading(name: string): { readonly request: Request; readonly work: Work } {
    const request = this.#request('get', name);
    return { request, work: (signal) => this.#client.api.get(CONFIG_MAPS, request.key, signal) };
  }
}

/** Whether the request is to be repeated. */
const isOpen = (outcome: Outcome) => outcome.kind === 'unknown' || (outcome.kind === 'fail' && outcome.code === 429);

/** What was acknowledged last is there, and nothing else. */
async function judge({ namespace, connect, untilRight }: WorkloadContext, clients: readonly PacedClient[]) {
  using api = connect();
  return await untilRight(async (signal) => {
    const { items } = await api.list(CONFIG_MAPS, { namespace, labelSelector: OWN }, signal);
    const left = new Map(items.map((item) => [item.metadata.name ?? '', valueOf(item)]));
    const wrong: string[] = [];
    for (const { present, unsure } of clients) {
      for (const [name, object] of present) {
        const expected = valueOf(object);
        const found = left.get(name);
        if (found !== expected && !unsure.has(name)) {
          wrong.push(`${name} is ${found ?? 'gone'} after ${expected} was acknowledged`);
        }
        left.delete(name);
      }
      for (const name of unsure) left.delete(name);
    }
    return [...wrong, ...[...left.keys()].map((name) => `${name} is there after its acknowledged deletion`)];
  });
}

/** Deletes what is left, so that runs end in the same state. */
async function empty({ namespace, connect, untilRight }: WorkloadContext): Promise<readonly string[]> {
  using api = connect();
  return await untilRight(async (signal) => {
    const { items } = await api.list(CONFIG_MAPS, { namespace, labelSelector: OWN }, signal);
    for (const { metadata } of items) {
      await api.delete(CONFIG_MAPS, { namespace, name: metadata.name ?? '' }, {}, signal);
    }
    return items.map(({ metadata }) => `${metadata.name} is there after its deletion`);
  });
}

function pick<T>(values: readonly T[], random: Random): T {
  return values[Math.floor(random() * values.length)] as T;
}
