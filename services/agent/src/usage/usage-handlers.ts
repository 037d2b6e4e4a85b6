import { create } from '@bufbuild/protobuf';
import { type NodeUsageReply, NodeUsageReplySchema, type NodeUsageRequest } from '@gantry/proto';
import type { GrpcCall, GrpcService } from '@gantry/service';
import { type UsageSampler, totalUsage, type Usage } from './usage-sampler.ts';
import { requireApiServer } from '../identity/bootstrap-client.ts';

/** The handlers of the agent's gRPC service that report the usage of its node and pods. */
export function usageHandlers(sampler: Pick<UsageSampler, 'pods' | 'node'>): GrpcService['handlers'] {
  return {
    nodeUsage: {
      kind: 'unary',
      handle: async (_request: NodeUsageRequest, call: GrpcCall) => {
        requireApiServer(call, 'nodes', '', 'read usage');
        return reply(sampler);
      },
    },
  };
}

function reply(sampler: Pick<UsageSampler, 'pods' | 'node'>): NodeUsageReply {
  const node = sampler.node();
  return create(NodeUsageReplySchema, {
    ...(node === undefined ? {} : { node: message(node), ...time(node) }),
    pods: sampler.pods().flatMap(({ uid, containers }) => {
      const total = totalUsage(containers.map(({ usage }) => usage));
      if (total === undefined) return [];
      return [
        {
          podUid: uid,
          ...time(total),
          containers: containers.map(({ name, usage }) => ({ name, usage: message(usage) })),
        },
      ];
    }),
  });
}

function message({ cpuNanoCores, memoryBytes }: Usage) {
  return { cpuNanoCores: BigInt(cpuNanoCores), memoryBytes: BigInt(memoryBytes) };
}

function time({ at, windowMs }: Usage) {
  return { atMs: BigInt(Math.round(at)), windowMs: BigInt(Math.round(windowMs)) };
}
