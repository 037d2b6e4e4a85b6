import { lookup } from 'node:dns/promises';
import { create } from '@bufbuild/protobuf';
import { type Clock, errorMessage, type Instant } from '@gantry/base';
import {
  IntrospectionService,
  type ReportReply,
  type ReportRequest,
  ReportRequestSchema,
  serviceDefinition,
} from '@gantry/proto';
import type { TlsSource } from '@gantry/tls';
import {
  type CallOptions,
  type Client,
  credentials,
  makeGenericClientConstructor,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';

/** The processes of one service: each address that its name has. The name is also that of their certificates. */
export interface ReportingService {
  readonly name: string;
  /** The host whose process it is, for a name that each host has. */
  readonly host?: string;
  readonly port: number;
  /** The addresses of its processes. Rejects when they cannot be found. */
  readonly addresses: () => Promise<readonly string[]>;
}

/** What a process says of itself, by name of the part. */
export type ProcessParts = Readonly<Record<string, unknown>>;

interface Reported {
  readonly address: string;
  readonly parts: ProcessParts;
}

interface Unreachable {
  readonly address: string;
  readonly reason: string;
}

export interface Gathered {
  /** One of each process, though it may have several addresses. */
  readonly reports: readonly Reported[];
  /** Processes that did not respond, and services whose processes were not found. */
  readonly unreachable: readonly Unreachable[];
}

/** Asks the processes of services what they do. */
export interface ProcessReports extends Disposable {
  /** `parts` has `process`, by which a process is known. */
  gather(services: readonly ReportingService[], parts: readonly ['process', ...string[]]): Promise<Gathered>;
}

/** Gathered reports are used for this time, and concurrent requests share a call: viewers cost the processes nothing more. */
const FRESH_MS = 500;
/** Timeout of the call to one process, including the connection. */
const CALL_MS = 2000;
const IDLE_MS = 60_000;
const MAX_REPLY_BYTES = 16 * 2 ** 20;

type ReportClient = Client & {
  report(
    request: ReportRequest,
    metadata: Metadata,
    options: CallOptions,
    callback: (error: ServiceError | null, reply?: ReportReply) => void,
  ): void;
};

const Constructor = makeGenericClientConstructor(serviceDefinition(IntrospectionService), 'IntrospectionService');

interface Known {
  readonly client: ReportClient;
  usedAt: Instant;
}

interface Asked {
  readonly at: Instant;
  readonly gathered: Promise<Gathered>;
}

/** Finds the processes of a service by its name in DNS, which has an address for each. */
export function serviceInDns(name: string, port: number): ReportingService {
  return {
    name,
    port,
    addresses: async () => (await lookup(name, { all: true, family: 4 })).map(({ address }) => address),
  };
}

/** Asks over gRPC with mutual TLS, as an API server. Connections are kept while they are used. */
export function createProcessReports(tls: TlsSource, clock: Clock): ProcessReports {
  const clients = new Map<string, Known>();
  const asked = new Map<string, Asked>();
  const forget = (key: string): void => {
    clients.get(key)?.client.close();
    clients.delete(key);
  };
  const forgetAll = (): void => {
    for (const key of [...clients.keys()]) forget(key);
  };
  const unsubscribe = tls.subscribe(forgetAll);
  const clientOf = (name: string, address: string): ReportClient => {
    const key = `${name} ${address}`;
    const known = clients.get(key);
    if (known !== undefined) {
      known.usedAt = clock.now();
      return known.client;
    }
    const { ca, key: privateKey, cert } = tls.current();
    const client = new Constructor(address, credentials.createSsl(ca, privateKey, cert), {
      'grpc.ssl_target_name_override': name,
      'grpc.default_authority': name,
      'grpc.max_receive_message_length': MAX_REPLY_BYTES,
      'grpc.enable_retries': 0,
    }) as unknown as ReportClient;
    clients.set(key, { client, usedAt: clock.now() });
    return client;
  };
  const ask = async (
    { name, port, addresses }: ReportingService,
    parts: readonly string[],
  ): Promise<readonly (Reported | Unreachable)[]> => {
    let found: readonly string[];
    try {
      found = await addresses();
    } catch (error) {
      return [{ address: `${name}:${port}`, reason: errorMessage(error) }];
    }
    return await Promise.all(
      found.map(async (host) => {
        const address = `${host}:${port}`;
        try {
          return { address, parts: await call(clientOf(name, address), parts, clock.now() + CALL_MS) };
        } catch (error) {
          // A new connection at the next attempt: this one may wait for a minute before it sends its next packet.
          forget(`${name} ${address}`);
          return { address, reason: errorMessage(error) };
        }
      }),
    );
  };
  return {
    gather: (services, parts) => {
      const now = clock.now();
      for (const [key, { usedAt }] of clients) if (now - usedAt > IDLE_MS) forget(key);
      for (const [key, { at }] of asked) if (now - at >= FRESH_MS) asked.delete(key);
      const key = `${services.map(({ name, host = '' }) => `${name}@${host}`).join()} ${parts.join()}`;
      const shared = asked.get(key);
      if (shared !== undefined) return shared.gathered;
      const gathered = Promise.all(services.map((service) => ask(service, parts))).then((answers): Gathered => {
        const all = answers.flat().toSorted((one, other) => (one.address < other.address ? -1 : 1));
        return {
          reports: onceEach(all.flatMap((one) => ('parts' in one ? [one] : []))),
          unreachable: all.flatMap((one) => ('reason' in one ? [one] : [])),
        };
      });
      asked.set(key, { at: now, gathered });
      return gathered;
    },
    [Symbol.dispose]: () => {
      unsubscribe();
      forgetAll();
    },
  };
}

function onceEach(reports: readonly Reported[]): readonly Reported[] {
  const identityOf = ({ parts }: Reported) => (parts['process'] as { readonly identity?: string }).identity;
  return [...new Map(reports.map((report) => [identityOf(report), report])).values()];
}

function call(client: ReportClient, parts: readonly string[], deadline: Instant): Promise<ProcessParts> {
  return new Promise((resolve, reject) => {
    const request = create(ReportRequestSchema, { parts: [...parts] });
    client.report(request, new Metadata(), { deadline }, (error, reply) => {
      if (error !== null || reply === undefined) reject(error ?? new TypeError('a reply without a message'));
      else resolve(JSON.parse(Buffer.from(reply.json).toString()) as ProcessParts);
    });
  });
}
