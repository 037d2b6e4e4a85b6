import { Agent, request as httpsRequest } from 'node:https';
import { request as httpRequest } from 'node:http';
import type { Member, Membership } from './plan.ts';

/** Reads and changes the members of one etcd cluster. Rejects with EtcdError. */
export interface EtcdAdmin {
  /** What a majority agrees on; undefined if none of the endpoints reaches one. */
  membership(signal: AbortSignal): Promise<Membership | undefined>;
  /** Adds a member that does not vote. Resolves with the URLs by which all members reach each other, by name. */
  addLearner(peerUrl: string, signal: AbortSignal): Promise<void>;
  /** Whether it votes now: not before it has caught up. */
  promote(id: string, signal: AbortSignal): Promise<boolean>;
  remove(id: string, signal: AbortSignal): Promise<void>;
  moveLeader(to: string, signal: AbortSignal): Promise<void>;
}

/** Certificates in PEM. */
export interface Certificates {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** What etcd answered, or why it did not. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError';
}

const TIMEOUT_MS = 3000;
/** The answer about nine members is about 2 KB. */
const MAX_BYTES = 1024 * 1024;
const NOT_IN_SYNC = /in sync with leader/;
const NOT_FOUND = /member not found/;
const NOT_LEADER = /not leader/;

/** Speaks etcd's gRPC API in JSON (its gateway, which every member has). The first endpoint that does what it is asked is enough. */
export function etcdAdmin(endpoints: readonly string[], certificates: Certificates | undefined): EtcdAdmin {
  const agent = certificates === undefined ? undefined : new Agent({ ...certificates, keepAlive: false });
  const ask = async (path: string, body: object, signal: AbortSignal): Promise<unknown> => {
    let last: unknown = new EtcdError('there is no endpoint');
    for (const endpoint of endpoints) {
      try {
        return await post(`${endpoint}/v3/${path}`, body, agent, signal);
      } catch (error) {
        signal.throwIfAborted();
        last = error;
      }
    }
    throw last;
  };
  return {
    membership: async (signal) => {
      for (const endpoint of endpoints) {
        try {
          const list = await post(`${endpoint}/v3/cluster/member/list`, { linearizable: true }, agent, signal);
          const status = await post(`${endpoint}/v3/maintenance/status`, {}, agent, signal);
          const { header, members } = list as MemberList;
          const { leader = '' } = status as { readonly leader?: string };
          return { clusterId: header.cluster_id, members: members.map(memberOf), leader };
        } catch {
          // Another one may reach the majority.
          signal.throwIfAborted();
        }
      }
      return undefined;
    },
    addLearner: async (peerUrl, signal) => {
      await ask('cluster/member/add', { peerURLs: [peerUrl], isLearner: true }, signal);
    },
    promote: async (id, signal) => {
      try {
        await ask('cluster/member/promote', { ID: id }, signal);
        return true;
      } catch (error) {
        if (error instanceof EtcdError && NOT_IN_SYNC.test(error.message)) return false;
        throw error;
      }
    },
    remove: async (id, signal) => {
      try {
        await ask('cluster/member/remove', { ID: id }, signal);
      } catch (error) {
        if (!(error instanceof EtcdError && NOT_FOUND.test(error.message))) throw error;
      }
    },
    moveLeader: async (to, signal) => {
      try {
        await ask('maintenance/transfer-leadership', { targetID: to }, signal);
      } catch (error) {
        // All but the leader refuse; the last one asked need not be it. Who leads is seen by the next look.
        if (!(error instanceof EtcdError && NOT_LEADER.test(error.message))) throw error;
      }
    },
  };
}

interface MemberList {
  readonly header: { readonly cluster_id: string };
  readonly members: readonly {
    readonly ID: string;
    readonly peerURLs: readonly string[];
    readonly isLearner?: boolean;
  }[];
}

function memberOf({ ID, peerURLs, isLearner = false }: MemberList['members'][number]): Member {
  const [name = ''] = new URL(peerURLs[0] ?? 'http://unknown').hostname.split('.');
  return { id: ID, name, isLearner };
}

async function post(url: string, body: object, agent: Agent | undefined, signal: AbortSignal): Promise<unknown> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  const text = await new Promise<string>((resolve, reject) => {
    const options = { method: 'POST', signal: stop, ...(agent === undefined ? {} : { agent }) };
    const sent = request(url, options, (response) => {
      const { statusCode = 0 } = response;
      readText(response).then((answer) => {
        if (statusCode === 200) resolve(answer);
        else reject(new EtcdError(`${url}: ${statusCode} ${answer.slice(0, 500)}`));
      }, reject);
    });
    sent.on('error', (error) => reject(new EtcdError(`${url}: ${error.message}`, { cause: error })));
    sent.end(JSON.stringify(body));
  });
  return JSON.parse(text);
}

async function readText(response: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new EtcdError(`the answer is longer than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
