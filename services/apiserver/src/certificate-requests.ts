import { must } from '@gantry/base';
import type { CertificateRequestClient } from '@gantry/client';
import { type CertificateSigningRequest, type KubeObject, StatusError } from '@gantry/objects';
import type { LoopbackClient } from './loops/loopback-client.ts';

/** The apiserver as a client of its own certificate requests. */
export function certificateRequestClient(client: LoopbackClient): CertificateRequestClient {
  const typed = (object: KubeObject) => object as CertificateSigningRequest;
  return {
    create: async (resource, object, signal) =>
      typed(must(await client.create(resource, object, signal), 'a created object with a generated name')),
    get: async (resource, { name }, signal) => {
      const found = await client.get(resource, { name }, 'latest', signal);
      if (found === undefined) throw StatusError.notFound(resource, name);
      return typed(found);
    },
  };
}
