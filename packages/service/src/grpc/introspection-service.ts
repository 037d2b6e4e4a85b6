import { create } from '@bufbuild/protobuf';
import { IntrospectionService, type ReportReply, ReportReplySchema, type ReportRequest } from '@gantry/proto';
import type { GrpcCall, GrpcService } from './grpc-service.ts';

/** What a process says of itself: by name of the part, a function whose result is a value of JSON. */
export type ReportedParts = Readonly<Record<string, () => unknown>>;

export interface IntrospectionOptions {
  readonly parts: ReportedParts;
  /** The organisation in the certificates of those who may ask. */
  readonly askedBy: string;
  /** The error for others. */
  readonly forbidden: () => Error;
}

/** Reports parts of the process's state to those who may ask. */
export function introspectionService({ parts, askedBy, forbidden }: IntrospectionOptions): GrpcService {
  const report = async ({ parts: names }: ReportRequest, { identity }: GrpcCall): Promise<ReportReply> => {
    if (identity?.organizations.includes(askedBy) !== true) throw forbidden();
    const known = [...new Set(names)].filter((name) => Object.hasOwn(parts, name));
    const values = await Promise.all(known.map(async (name) => [name, await parts[name]?.()] as const));
    return create(ReportReplySchema, { json: Buffer.from(JSON.stringify(Object.fromEntries(values))) });
  };
  return { descriptor: IntrospectionService, handlers: { report: { kind: 'unary', handle: report } } };
}
