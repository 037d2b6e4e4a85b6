import { create } from '@bufbuild/protobuf';
import { fromFailedCall, type ObjectWrite } from '@gantry/client';
import { decodeObject, encodeWrite } from '@gantry/client/testing';
import type { KubeObject } from '@gantry/objects';
import {
  type ObjectReply,
  ObjectService,
  serviceDefinition,
  type WriteRequest,
  WriteRequestSchema,
} from '@gantry/proto';
import type { TlsMaterial } from '@gantry/tls';
import { credentials, makeGenericClientConstructor, type ServiceError } from '@grpc/grpc-js';
import type { TestApiServer } from './start-api-server.ts';

type Call = (request: WriteRequest, callback: (error: ServiceError | null, reply: ObjectReply) => void) => void;

const Constructor = makeGenericClientConstructor(serviceDefinition(ObjectService), 'ObjectService');

/**
 * Sends one write over gRPC as a dry run, which the services' client does not support. Resolves with the object that would be stored.
 * Rejects with the StatusError of the write. `as` defaults to the administrator.
 */
export async function dryRunOverGrpc(
  server: TestApiServer,
  write: ObjectWrite,
  { ca, key, cert }: TlsMaterial = server.admin,
): Promise<KubeObject> {
  const client = new Constructor(`localhost:${server.grpcPort}`, credentials.createSsl(ca, key, cert));
  const request = create(WriteRequestSchema, { write: { ...encodeWrite(write, 'test'), dryRun: true } });
  const call = (client[write.verb] as Call).bind(client);
  try {
    return await new Promise((resolve, reject) => {
      call(request, (error, reply) => {
        if (error === null) resolve(decodeObject(reply.object));
        else reject(fromFailedCall(error));
      });
    });
  } finally {
    client.close();
  }
}
